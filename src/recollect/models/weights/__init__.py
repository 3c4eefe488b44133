"""Where the bundled models are, one folder each; in a module of its own for start-up time."""

from pathlib import Path

WEIGHTS = Path(__file__).parent
TOKENIZER = "tokenizer.json"
