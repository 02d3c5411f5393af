"""Makes the module with cffi's declarations from the public headers: declarations.py COMPILER INCLUDE_FOLDER OUTPUT.

The C preprocessor expands the headers and their lists (.def), so that nothing stands twice. Standard headers are left out: cffi
knows their types."""

import os
import re
import subprocess
import sys
import tempfile

from cffi import FFI

STANDARD = ["stdbool.h", "stddef.h", "stdint.h"]

# The list of a search's options as a table of text (search_options.def).
OPTIONS = """#define ITG_SEARCH_OPTION(id, member, kind, resume, name, argument, preset, min, max, help) \\
    (name, #member, #kind, #resume, preset, help),
#include <intaglio/search_options.def>
"""


def preprocess(compiler, include, text, *flags):
    """The text after the C preprocessor, without the standard headers."""
    with tempfile.TemporaryDirectory() as empty:
        for name in STANDARD:
            open(os.path.join(empty, name), "w").close()
        command = [compiler, "-E", "-P", "-nostdinc", "-U__GNUC__", "-I", empty, "-I", include, *flags, "-x", "c", "-"]
        return subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.PIPE).stdout


def declarations(compiler, include):
    """The headers as cffi's parser takes them: without inline functions, with the constants of macros."""
    source = "#include <intaglio/explain.h>\n#include <intaglio/remote.h>\n"
    text = preprocess(compiler, include, source)
    text = re.sub(r"static inline [^{;]*\{.*?\n?\}", "", text, flags=re.S)
    macros = preprocess(compiler, include, source, "-dM")
    numbers = re.findall(r"^#define (ITG_\w+) (\d+)$", macros, flags=re.M)
    return text + "".join(f"#define {name} {value}\n" for name, value in sorted(numbers))


def options(compiler, include):
    """[(name, member, kind, "KEPT" or "FREE", default or None, help)], as search_options.def has them."""
    rows = preprocess(compiler, include, OPTIONS).replace("NULL", "None")
    return eval("[" + rows + "]")  # string literals and None: the same in C and in Python


def main():
    compiler, include, out = sys.argv[1:]
    ffi = FFI()
    ffi.set_source("intaglio._declarations", None)
    ffi.cdef(declarations(compiler, include))
    ffi.emit_python_code(out)
    with open(out, "a", encoding="utf-8") as file:
        file.write(f"\nSEARCH_OPTIONS = {options(compiler, include)!r}\n")


main()
