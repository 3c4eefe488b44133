"""`recollect completion`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.commands import command

# Each script passes the line's words to `completion --line`; the last is the one being typed.
SCRIPTS = {
    "bash": """\
_recollect() {
    local IFS=$'\\n'
    COMPREPLY=($(recollect completion --line "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -o nosort -F _recollect recollect 2>/dev/null || \\
    complete -o default -F _recollect recollect
""",
    "zsh": """\
#compdef recollect
_recollect() {
    local -a found
    local line
    recollect completion --line "${(@)words[2,CURRENT]}" 2>/dev/null |
        while IFS= read -r line; do found+=("${${line//:/\\\\:}/$'\\t'/:}"); done
    if (( $#found )); then _describe recollect found; else _files; fi
}
compdef _recollect recollect
""",
    "fish": """\
function __recollect_complete
    set -l words (commandline -opc) (commandline -ct)
    recollect completion --line $words[2..] 2>/dev/null
end
complete --command recollect --arguments '(__recollect_complete)'
""",
    "powershell": """\
Register-ArgumentCompleter -Native -CommandName recollect -ScriptBlock {
    param($typed, $line, $position)
    $words = @($line.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
    if (-not $typed) { $words += '""' }
    recollect completion --line @words 2>$null | ForEach-Object {
        $name, $about = $_ -split "`t", 2
        if (-not $about) { $about = $name }
        [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $about)
    }
}
""",
}


@command(
    "  recollect completion fish > ~/.config/fish/completions/recollect.fish\n"
    '  eval "$(recollect completion bash)"              in ~/.bashrc\n'
    '  eval "$(recollect completion zsh)"               in ~/.zshrc, after compinit\n'
    "  recollect completion powershell | Out-String | Invoke-Expression   in $PROFILE",
    arg.argument("shell", "SHELL", f"{', '.join(SCRIPTS)}"),
)
def completion(args: argparse.Namespace) -> None:
    if args.shell not in SCRIPTS:
        raise WrongUsage(f"There is no shell {args.shell!r}; there are: {', '.join(SCRIPTS)}.")
    print(SCRIPTS[args.shell], end="")
