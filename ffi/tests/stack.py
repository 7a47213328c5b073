"""How deep the stack goes below each function of the interface, read from the code of libraries for Cortex-M.

    stack.py TABLE PARTS=LIBRARY…       compares with the table (NANOEMBED_WRITE_STACK=1 writes it)
    stack.py --chain FUNCTION LIBRARY   what takes the stack of one function

A frame is what a function's code pushes and subtracts. A function takes its frame and the deepest that it calls. Calls
through pointers are those of kernels, of the closures that a pass over a model runs, and of the program's own callbacks,
whose stack is the program's.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

# Bytes below which a function is not worth a line, and by how much a figure may differ from the table.
LEAST = 512
TOLERANCE = 1.05
# What firmware has: functions that open models, and all others.
OPENING = re.compile(r"nanoembed_(plan_model|model_init)$")
COMPUTING = r"nanoembed_core::(model::(block|fixed|head|linear|pass|run|table::rows)|quant|words)::"
LIMITS = {"opening": 5200, "calls": 8192}
TABLE_HEAD = "Bytes of stack on a Cortex-M4, of libraries with these parts: ffi/test.sh stack"


def register_bytes(text):
    total = 0
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        size = 8 if first[0] == "d" else 4
        total += size * (int(last[1:]) - int(first[1:]) + 1 if last else 1)
    return total


class Function:
    def __init__(self):
        self.frame, self.calls, self.taken, self.calls_pointers = 0, set(), set(), False
        self._below = {}

    def instruction(self, name, operands):
        """Adds what one instruction takes of the stack."""
        if name.startswith(("push", "vpush")):
            self.frame += register_bytes(operands.strip("{}"))
        elif name.startswith("stmdb") and operands.startswith("sp!"):
            self.frame += register_bytes(operands[operands.index("{") :].strip("{}"))
        elif found := re.fullmatch(r"(?:.*, )?\[sp, #-(\d+)\]!", operands):
            self.frame += int(found[1])
        elif name.startswith("sub") and (found := re.fullmatch(r"sp, (?:sp, )?#(\d+)", operands)):
            self.frame += int(found[1])
        elif name.startswith("sub") and (found := re.fullmatch(r"(\w+), sp, #(\d+)", operands)):
            # A frame that is aligned: the register becomes the stack pointer.
            self._below[found[1]] = int(found[2])
        elif name == "mov" and (found := re.fullmatch(r"sp, (\w+)", operands)) and found[1] in self._below:
            self.frame += self._below.pop(found[1]) + 16
        elif name.startswith("sub") and operands.startswith("sp,"):
            raise SystemExit(f"an unknown frame: {name} {operands}")
        elif name == "blx" or (name == "bx" and operands != "lr"):
            self.calls_pointers = True


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


class Library:
    def __init__(self, path):
        self.functions, tables = {}, set()
        function = None
        for line in run("arm-none-eabi-objdump", "-dr", "--no-show-raw-insn", path).splitlines():
            if found := re.fullmatch(r"[0-9a-f]+ <(.*)>:", line):
                function = self.functions.setdefault(found[1], Function())
            elif found := re.match(r"\s+[0-9a-f]+:\s+(R_ARM\w+)\s+(\S+)", line):
                (function.calls if re.search("CALL|JUMP", found[1]) else tables).add(found[2])
            elif found := re.match(r"\s+[0-9a-f]+:\s+(\S+)\s*(.*)", line):
                function.instruction(found[1], re.split(r"\s*[@;]", found[2])[0].strip())
        for line in run("arm-none-eabi-objdump", "-r", path).splitlines():
            if found := re.match(r"[0-9a-f]+ R_ARM_ABS32\s+(\S+)", line):
                tables.add(found[1])
        names = list(self.functions)
        spelled = run("c++filt", text="\n".join(names)).splitlines()
        self.names = dict(zip(names, (re.sub(r"\[[0-9a-f]{16}\]|::h[0-9a-f]{16}$", "", it) for it in spelled)))
        taken = [name for name in names if name in tables]
        self.kernels = [name for name in taken if "nanoembed_core::kernel::" in self.names[name]]
        self.closures = [name for name in taken if re.search(r"model::pass::.*closure", self.names[name])]
        self.deepest = {}

    def targets(self, name):
        """What a function may call."""
        function, spelled = self.functions[name], self.names[name]
        pointers = []
        if function.calls_pointers and "InOrder" in spelled:
            pointers = self.closures
        elif function.calls_pointers and re.search(COMPUTING, spelled):
            pointers = self.kernels
        return [it for it in (*sorted(function.calls), *pointers) if it in self.functions]

    def chain(self, name, above=()):
        """The deepest chain of calls from a function on; one that calls itself is counted once."""
        if name in self.deepest:
            return self.deepest[name]
        below = [self.chain(it, (*above, name)) for it in self.targets(name) if it not in (*above, name)]
        deepest = max(below, key=lambda chain: chain[0], default=(0, ()))
        self.deepest[name] = (deepest[0] + self.functions[name].frame, (name, *deepest[1]))
        return self.deepest[name]

    def depths(self):
        return {name: self.chain(name)[0] for name in self.functions if name.startswith("nanoembed_")}


def table_of(columns):
    lines = [TABLE_HEAD, *columns]
    for name in sorted({name for depths in columns.values() for name in depths}):
        figures = [depths.get(name, 0) for depths in columns.values()]
        if max(figures) >= LEAST:
            lines.append(" ".join([f"{name:32}", *(f"{it or '-':>8}" for it in figures)]))
    return "\n".join(lines) + "\n"


def parsed(text):
    """The table's figures by column and function."""
    lines = text.splitlines()[1:]
    columns = [line for line in lines if not line.startswith("nanoembed_")]
    rows = [line.split() for line in lines if line.startswith("nanoembed_")]
    number = lambda figure: 0 if figure == "-" else int(figure)
    return {it: {row[0]: number(row[at + 1]) for row in rows} for at, it in enumerate(columns)}


def faults(columns, told):
    for parts, depths in columns.items():
        for name, depth in sorted(depths.items()):
            known = told.get(parts, {}).get(name, LEAST)
            if depth > max(known * TOLERANCE, LEAST) or depth * TOLERANCE < known > LEAST:
                yield f"{name} of {parts} takes {depth} bytes; the table says {known}"
            limit = LIMITS["opening" if OPENING.match(name) else "calls"]
            if "small" in parts and depth > limit:
                yield f"{name} of {parts} takes {depth} bytes of {limit}"


def main():
    sys.setrecursionlimit(10_000)
    if sys.argv[1] == "--chain":
        library = Library(sys.argv[3])
        for name in library.chain(sys.argv[2])[1]:
            print(f"{library.functions[name].frame:6} {library.names[name]}")
        return
    table = Path(sys.argv[1])
    columns = {parts: Library(path).depths() for parts, _, path in (it.partition("=") for it in sys.argv[2:])}
    text = table_of(columns)
    if os.environ.get("NANOEMBED_WRITE_STACK"):
        table.write_text(text)
    print(text, end="")
    if found := list(faults(columns, parsed(table.read_text()))):
        raise SystemExit("\n".join(found))


main()
