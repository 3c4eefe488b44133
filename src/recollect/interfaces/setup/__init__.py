"""Registering the MCP server with the programs that start such servers, in their own files."""
