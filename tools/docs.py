"""Write the generated pages of docs/, or say which are stale (`--check`).

A page is one entry of PAGES: its path and the function that returns its text.
"""

import argparse
import difflib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ssdlab import _core

ROOT = Path(__file__).resolve().parent.parent
HEAD = "<!-- Written by `make docs`: change the source, not this page. -->\n\n"


def command_line() -> str:
    """Every verb and option of the `ssdlab` command, as it describes itself."""
    command = [sys.executable, "-m", "typer", "ssdlab.cli", "utils", "docs", "--name", "ssdlab"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip() + "\n"


def config() -> str:
    """Every configuration key and policy, from the tables that the program itself uses."""
    return _core.config_reference().strip() + "\n"


def presets() -> str:
    """Every preset as it is written, with the source of each number."""
    listed = json.loads(_core.registry())["presets"]
    parts = [f"## {p['name']}\n\n```toml\n{p['text'].strip()}\n```\n" for p in listed]
    return "\n".join(["# Presets\n", *parts])


PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/config.md": config,
    "docs/reference/presets.md": presets,
    "docs/reference/command-line.md": command_line,
}


def main() -> int:
    """Write or check all pages; 1 if a page is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a stale page")
    check = parser.parse_args().check
    stale = False
    for name, text in PAGES.items():
        path = ROOT / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        new = HEAD + text()
        if old == new:
            continue
        stale = True
        if check:
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), name, "new", lineterm=""
            )
            sys.stdout.write("\n".join(lines) + "\n")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new, encoding="utf-8")
        sys.stdout.write(f"wrote {name}\n")
    if check and stale:
        sys.stderr.write("generated pages are stale: run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
