"""Mutants of the C sources: one changed line each, drawn by seed and index.

A mutant of one seed and index depends on the sources alone. Folders take turns in proportion to their lines; then a line is drawn
from the folder's function bodies, one operator of those that apply to the line, and one place in it. Text and comments are never
changed. Standard library only.
"""
import collections
import os
import random
import re

FOLDERS = ("base", "kernels", "graph", "hardware", "sim", "realize", "recover", "search", "api", "logs", "cli")
Mutant = collections.namedtuple("Mutant", "folder file line operator old new")
Line = collections.namedtuple("Line", "text code returns starts")


def masked(text):
    """The text with comments and what stands in quotes as blanks: same length, same lines."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda found: re.sub(r"[^\n]", "\x01", found.group()), text)


def read_lines(path):
    """The file's lines, and of each in a function's body (else None) what it returns and whether a statement starts there."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    plain, lines, inside, signature, returns, before = text.splitlines(), [], False, "", None, "{"
    for number, code in enumerate(masked(text).splitlines()):
        if code.startswith("}"):
            inside = False
        starts = inside and (before.endswith((";", "{", "}", ":")) or before == "else" or bool(re.match(r"(if|for|while) .*\)$", before)))
        lines.append(Line(plain[number], code, returns if inside else None, starts))
        stripped = code.replace("\x01", " ").strip()
        if code.startswith("{"):
            inside, returns = True, result_of(signature)
        if not inside and not code.startswith((" ", "}")):
            signature = code
        if stripped and not code.startswith("#"):
            before = stripped
    return lines


def result_of(signature):
    if re.search(r"\bitg_status \w+\(", signature):
        return "itg_status"
    if re.search(r"\bvoid \w+\(", signature):
        return "void"
    return re.search(r"\bbool \w+\(", signature) and "bool" or "other"


def swaps(pattern, others):
    """An operator that replaces what the pattern's first group finds by one of its others."""
    compiled = re.compile(pattern)

    def apply(line):
        for found in compiled.finditer(line.code):
            start, end = found.span(1)
            for other in others[found.group(1)]:
                yield line.text[:start] + other + line.text[end:]
    return apply


# Which of two equal numbers is taken changes nothing: `a < b ? a : b` and `if (a < b) b = a;` do with `<=` what they do with `<`
# (zeros of two signs aside).
OPERAND = r"[A-Za-z_][\w.>\[\]-]*"
BEHIND = rf" \? (?:\1 : \3|\3 : \1)(?=[;,)]| :|$)|\) (?:\1 = \3|\3 = \1);"
CHOICE = re.compile(rf"(?:\(|= |return |: |, |\|\| |&& )({OPERAND}) ([<>])=? ({OPERAND})(?:{BEHIND})")


def comparisons(line):
    chosen = {found.start(2) for found in CHOICE.finditer(line.code)}
    for found in re.finditer(r" (<=|>=|==|!=|<|>) ", line.code):
        start, end = found.span(1)
        for other in COMPARED[found.group(1)]:
            if start not in chosen or other[0] != found.group(1)[0]:
                yield line.text[:start] + other + line.text[end:]


COMPARED = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="]}

# Room for one more element changes nothing, so that such an extent only shrinks.
DECLARES_ARRAY = re.compile(r"\s*(?:(?:static|const|unsigned|struct)\s+)*[A-Za-z_]\w*\s+\**\w+\[")


def constants(line):
    for found in re.finditer(r"(?<![\w.])(\d+)([uUlL]*)(?![\w.])", line.code):
        value = int(found.group(1), 8) if re.fullmatch(r"0\d+", found.group(1)) else int(found.group(1))
        grows = line.code[:found.start()].endswith(("[", " + ")) and line.code[found.end():].startswith("]")
        extent = grows and DECLARES_ARRAY.match(line.code)
        for other in (value - 1,) if extent else (value + 1, value - 1):
            text = str(other) if other >= 0 else f"({other})"
            yield line.text[:found.start()] + text + found.group(2) + line.text[found.end():]
    for found in re.finditer(r"(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?)", line.code):
        yield line.text[:found.start()] + f"(2 * {found.group(1)} + 1)" + line.text[found.end():]


def dropped_not(line):
    for found in re.finditer(r"!(?=[\w(*])", line.code):
        yield line.text[:found.start()] + line.text[found.end():]


def balanced(code, at):
    """Where the parenthesis that opens at `at` is closed; -1: on another line."""
    depth = 0
    for i in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[i], 0)
        if depth == 0:
            return i
    return -1


def negated(line):
    found = re.search(r"\bif \(", line.code)
    end = balanced(line.code, found.end() - 1) if found else -1
    if end > 0:
        yield f"{line.text[:found.end()]}!({line.text[found.end():end]}){line.text[end:]}"
    for found in re.finditer(r" \? ", line.code):
        if re.search(r"return [^?;:]* \? ", line.code[:found.end()]):
            start = line.code.index("return ") + 7
            yield f"{line.text[:start]}!({line.text[start:found.start()]}){line.text[found.start():]}"


# `type name`, `type *name`: a declaration, which cannot go alone.
DECLARATION = re.compile(r"(const|static|struct|enum|unsigned|union) |\w+ \**\w+( =|;|\[|,|\()")
JUMP = re.compile(r"(return|goto|break|continue|case|default)\b")


def is_removable(statement):
    if not re.fullmatch(r"[\w*(].*;", statement) or statement.startswith("(void)") or "{" in statement or "}" in statement:
        return False
    return not DECLARATION.match(statement) and not JUMP.match(statement) and not re.match(r"(if|for|while|do|else|switch)\b", statement)


def deleted(line):
    indent = line.text[:len(line.text) - len(line.text.lstrip())]
    code = line.code.rstrip()
    if line.starts and is_removable(code.strip()):
        yield indent + "(void)0;"
    found = re.match(r"\s*(?:else )?(?:if|for|while) \(", line.code)
    end = balanced(line.code, found.end() - 1) if found else -1
    if end > 0 and is_removable(code[end + 1:].strip()):
        yield line.text[:end + 1] + " (void)0;"


def dropped_check(line):
    found = re.match(r"(\s*)if \(", line.code)
    end = balanced(line.code, found.end() - 1) if found else -1
    if line.starts and end > 0 and re.fullmatch(r" (return|goto|break|continue)\b[^;]*;", line.code[end + 1:].rstrip()):
        yield found.group(1) + "(void)0;"


def early_return(line):
    code = line.code.strip()
    if not line.starts or not re.match(r"[\w*]", code) or re.match(r"(case|default|else)\b|\w+:", code) or "goto" in code:
        return
    what = {"itg_status": "return ITG_OK;", "void": "return;"}.get(line.returns)
    # Behind a declaration alone: what follows would need the name.
    if what and not DECLARATION.match(code) and not code.startswith("return ITG_OK"):
        indent = line.text[:len(line.text) - len(line.text.lstrip())]
        yield f"{indent}if (1) {what} {line.text.lstrip()}"


OPERATORS = {
    "comparison": comparisons,
    "arithmetic": swaps(r" ([-+*/%]|<<|>>|&|\||\^) ", {"+": ["-"], "-": ["+"], "*": ["+", "/"], "/": ["*"], "%": ["*"], "<<": [">>"],
                                                      ">>": ["<<"], "&": ["|"], "|": ["&"], "^": ["&"]}),
    "update": swaps(r"(\+\+|--|\+=|-=|\*=|/=|\|=|&=)", {"++": ["--"], "--": ["++"], "+=": ["-="], "-=": ["+="], "*=": ["/="],
                                                       "/=": ["*="], "|=": ["&="], "&=": ["|="]}),
    "logic": swaps(r" (&&|\|\|) ", {"&&": ["||"], "||": ["&&"]}),
    "not": dropped_not,
    "constant": constants,
    "bool": swaps(r"\b(true|false)\b", {"true": ["false"], "false": ["true"]}),
    "minimum": swaps(r"(?<=[a-zA-Z0-9]_)(min|max|MIN|MAX)\b|(?<![\w])f(min|max)\(", {"min": ["max"], "max": ["min"], "MIN": ["MAX"],
                                                                                   "MAX": ["MIN"], None: []}),
    "negation": negated,
    "deletion": deleted,
    "check": dropped_check,
    "early return": early_return,
}


def mutations(line):
    """By operator, the line's other texts."""
    if line.returns is None or line.code.startswith("#") or re.match(r"\s*(\x01|assert\()", line.code):
        return {}
    found = {}
    for name, operator in OPERATORS.items():
        texts = [text for text in dict.fromkeys(operator(line)) if text != line.text]
        if texts:
            found[name] = texts
    return found


class Sources:
    def __init__(self, root, files):
        self.root, self.lines = root, {folder: [] for folder in FOLDERS}
        for file in sorted(files):
            folder = file.split("/")[0]
            if folder in FOLDERS and file.endswith((".c", ".h")):
                for number, line in enumerate(read_lines(os.path.join(root, file))):
                    if mutations(line):
                        self.lines[folder].append((file, number, line))

    def folder_of(self, index, folders):
        """Of equal turns in proportion to lines: whoever is furthest behind."""
        sizes = {folder: len(self.lines[folder]) for folder in folders}
        total, taken = sum(sizes.values()), collections.Counter()
        for turn in range(index + 1):
            folder = max(folders, key=lambda name: sizes[name] * (turn + 1) - taken[name] * total)
            taken[folder] += 1
        return folder

    def draw(self, seed, index, folders=FOLDERS):
        """The mutant of a seed and an index, then its substitutes."""
        rng, folder = random.Random(f"{seed}/{index}"), self.folder_of(index, folders)
        while True:
            file, number, line = rng.choice(self.lines[folder])
            found = mutations(line)
            operator = rng.choice(sorted(found))
            yield Mutant(folder, file, number + 1, operator, line.text, rng.choice(found[operator]))
