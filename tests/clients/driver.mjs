// The official TypeScript SDK, as a client that is told line by line what to call.
// First line: how to reach the server. Further lines: {tool, arguments}. Each answer is a line.
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "recollect-clients", version: "1" });
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");

const { url, headers, ...command } = JSON.parse((await lines.next()).value);
await client.connect(
  url
    ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
    : new StdioClientTransport(command),
);
const { tools } = await client.listTools();
say({ tools: tools.map((tool) => tool.name), instructions: client.getInstructions() });
for await (const line of lines) {
  const { tool, arguments: given } = JSON.parse(line);
  // The SDK checks the structured content against the tool's output schema.
  const answer = await client.callTool({ name: tool, arguments: given });
  say({ failed: answer.isError ?? false, text: answer.content.map((part) => part.text).join("\n") });
}
await client.close();
