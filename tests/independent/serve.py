"""Runs reproduce.py and codes.py without a new Python for each: most of their time is its start.

Reads lines of words that tabs separate, the program's name first; answers each with a line: the exit status, then what the program
printed, or the last line of what went wrong.
"""
import contextlib
import io
import sys

import codes
import reproduce

MAINS = {"codes.py": codes.main, "reproduce.py": reproduce.main}


def answer(words):
    out = io.StringIO()
    sys.argv = words
    try:
        with contextlib.redirect_stdout(out):
            MAINS[words[0]]()
    except SystemExit as end:
        return f"{end.code if isinstance(end.code, int) else 1} {end.code}"
    except Exception as error:  # a second implementation may fail in any way: run.sh reports it
        return f"1 {type(error).__name__}: {error}"
    return f"0 {out.getvalue()}"


def main():
    for line in sys.stdin:
        print(" ".join(answer(line.rstrip("\n").split("\t")).split()), flush=True)


if __name__ == "__main__":
    main()
