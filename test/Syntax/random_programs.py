#!/usr/bin/env python3
"""Writes random programs, valid in syntax and odd in layout, for the round-trip test of the printer.

usage: random_programs.py FOLDER COUNT [SEED]

Comments, line breaks and blanks stand wherever the language allows them: anywhere inside ( and [, and in blocks after binary
operators, `=`, `->`, `:` and commas and before `|>`, `.` and `else`.
"""

import os
import random
import sys

NAMES = ["x", "y", "acc", "longer_name", "π", "n", "test", "type", "as", "a1", "_hidden", "Modell"]
LABELS = NAMES + ["in", "with", "for", "fn"]
NUMBERS = ["0", "1", "1_000", "0xff", "1.5e-3", "inf", "nan", "1i64", "2.0f64", "3f32", "7u8", "1e10", "nanf32"]
STRINGS = ['"a"', '""', r'"say \"hi\"\n"', '"# no comment"', '"é{}"']
DTYPES = ["f32", "i32", "bool", "Model", "nn.Layer", "_", "key"]
LOOSE = ["or", "and", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "//", "%", "@", "**"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.depth = self.random.randint(0, 3)
        self.comments = 0

    def chance(self, p):
        return self.random.random() < p

    def pick(self, options):
        return self.random.choice(options)

    # --- blanks -----------------------------------------------------------------------------------

    def comment(self, doc=False):
        self.comments += 1
        return f"{self.pick(['#', '# ', '## '] if doc else ['#', '# '])}c{self.comments} {self.pick(['', 'word', 'é “x”', '{ ( ['])}"

    def gap(self, brackets):
        """Blank space; where a newline is a blank, sometimes one, with or without a comment."""
        if not brackets or not self.chance(0.12):
            return self.pick(["", " ", "  "])
        lines = "".join(self.pick(["\n", " \n", f" {self.comment()}\n", f"\n  {self.comment()}\n", "\n\n"])
                        for _ in range(self.random.randint(1, 2)))
        return lines + " " * self.random.randint(0, 8)

    def after(self):
        """Behind an operator a newline is a blank everywhere."""
        return " " + self.gap(self.chance(0.3)) + " "

    # --- lists ------------------------------------------------------------------------------------

    def list(self, opening, elements, closing, single_needs_comma=False):
        text = opening + self.gap(True)
        for i, element in enumerate(elements):
            if i:
                text += self.gap(True) + "," + self.gap(True) + " "
            text += element
        if elements and (self.chance(0.2) or (single_needs_comma and len(elements) == 1)):
            text += self.gap(True) + ","
        return text + self.gap(True) + closing

    def some(self, make, low=0, high=3):
        return [make() for _ in range(self.random.randint(low, high))]

    # --- expressions ------------------------------------------------------------------------------

    def name(self):
        return self.pick(NAMES)

    def atom(self):
        if self.depth > 5:
            return self.pick([self.name, lambda: self.pick(NUMBERS)])()
        return self.pick([
            self.name, self.name, lambda: self.pick(NUMBERS), lambda: self.pick(STRINGS), lambda: "_",
            lambda: self.pick(["true", "false"]), self.parenthesized, self.tuple, self.record, self.array,
            self.comprehension, self.if_expression, self.block
        ])()

    def parenthesized(self):
        return "(" + self.gap(True) + self.expr() + self.gap(True) + ")"

    def tuple(self):
        return self.list("(", self.some(self.expr), ")", single_needs_comma=True)

    def fields(self):
        names = self.random.sample(LABELS, self.random.randint(1, 3))
        return [f"{n}:{self.after()}{self.expr()}" for n in names]

    def record(self):
        return self.list("(", self.fields(), ")")

    def array(self):
        if self.chance(0.2):
            return self.list("[", self.some(lambda: self.pick(NUMBERS), 1, 40), "]")
        return self.list("[", self.some(self.expr), "]")

    def comprehension(self):
        ranges = []
        for n in self.random.sample(["i", "j", "_"], self.random.randint(1, 3)):
            ranges.append(n + self.pick(["", f" in {self.expr()}"]))
        body = self.gap(True) + " " + self.expr()
        return "[" + self.gap(True) + "for " + (self.gap(True) + "," + self.gap(True)).join(ranges) + " :" + body + " ]"

    def subscript(self):
        e = lambda: self.pick(["", self.expr()])
        return self.pick([
            self.expr, lambda: "...", lambda: "newaxis", lambda: f"{e()}:{e()}", lambda: f"{e()}: {e()}:{e()}"
        ])()

    def postfix(self):
        text = self.atom()
        for _ in range(self.pick([0, 0, 0, 1, 2])):
            suffix = self.pick(["call", "index", "field"])
            if suffix == "call":
                arguments = self.some(self.expr) + (self.fields() if self.chance(0.3) else [])
                text += self.list("(", arguments, ")")
            elif suffix == "index":
                text += self.list("[", self.some(self.subscript, 1), "]")
            elif text not in NUMBERS:
                text += self.pick([".", "\n  .", " . "]) + self.name()
        return text

    def expr(self):
        self.depth += 1
        try:
            if self.depth > 6:
                return self.postfix()
            choice = self.random.random()
            if choice < 0.5:
                return self.postfix()
            if choice < 0.75:
                # Parentheses wherever precedence would forbid the operands that chance has chosen.
                op = self.pick(LOOSE)
                return f"{self.operand()} {op}{self.after()}{self.operand()}"
            if choice < 0.82:
                return self.pick(["-", "not "]) + self.operand()
            if choice < 0.86:
                return f"{self.operand()} :>{self.after()}{self.type()}"
            if choice < 0.90:
                return f"{self.operand()} with {self.record()}"
            if choice < 0.95:
                return f"{self.operand()}{self.gap(self.chance(0.3))} |> {self.operand()}"
            return self.function("fn")
        finally:
            self.depth -= 1

    def operand(self):
        if self.chance(0.3):
            return self.parenthesized()
        if self.chance(0.3):
            return f"{self.postfix()} {self.pick(['*', '+', '**', '-'])}{self.after()}{self.postfix()}"
        return self.postfix()

    def if_expression(self):
        text = f"if {self.expr()} {self.block()}"
        while self.chance(0.3):
            text += f" else if {self.expr()} {self.block()}"
        if self.chance(0.7):
            text += self.pick([" else ", "\n else "]) + self.block()
        return text

    # --- functions and types ----------------------------------------------------------------------

    def function(self, head):
        result = f" ->{self.after()}{self.type()}" if self.chance(0.3) else ""
        body = f" ={self.after()}{self.expr()}" if self.chance(0.5) else " " + self.block()
        return head + self.list("(", self.parameters(), ")") + result + body

    def parameters(self):
        parameters = []
        for n in self.random.sample(NAMES, self.random.randint(0, 4)):
            text = (self.pick(["in ", "with "]) if not any("in " in p or "with " in p for p in parameters)
                    and self.chance(0.1) else "") + n
            if self.chance(0.5):
                text += f":{self.after()}{self.type()}"
            if self.chance(0.3):
                text += f" = {self.expr()}"
            parameters.append(text)
        return parameters

    def type(self):
        self.depth += 1
        try:
            choice = self.random.random()
            if choice < 0.7 or self.depth > 5:
                sizes = lambda: self.pick(["n", "2 * d+1", "...", "_", "n // 2", "(n - 1) * m", "3"])
                return self.pick(DTYPES) + (self.list("[", self.some(sizes), "]") if self.chance(0.6) else "")
            if choice < 0.85:
                return self.list("(", self.some(self.type), ")", single_needs_comma=self.chance(0.5))
            names = self.random.sample(LABELS, self.random.randint(1, 3))
            return self.list("(", [f"{n}: {self.type()}" for n in names], ")")
        finally:
            self.depth -= 1

    # --- statements and items ---------------------------------------------------------------------

    def pattern(self, names=None):
        names = names if names is not None else self.random.sample(NAMES, len(NAMES))
        if self.chance(0.7) or len(names) < 4:
            return names.pop() if names and self.chance(0.8) else "_"
        return self.list("(", [self.pattern(names) for _ in range(self.random.randint(1, 3))], ")",
                         single_needs_comma=True)

    def statement(self):
        kind = self.pick(["let", "var", "assign", "expr", "expr", "for", "while", "assert", "break"])
        if self.depth > 4:
            kind = self.pick(["let", "expr", "break"])
        if kind in ("let", "var"):
            sizes = "[k, m] " if kind == "let" and self.chance(0.1) else ""
            annotation = f": {self.type()}" if self.chance(0.2) else ""
            return f"{kind} {sizes}{self.pattern()}{annotation} ={self.after()}{self.expr()}"
        if kind == "assign":
            target = self.name() + "".join(
                self.pick([lambda: ".w", lambda: self.list("[", self.some(self.subscript, 1), "]")])()
                for _ in range(self.random.randint(0, 2)))
            return f"{target} ={self.after()}{self.expr()}"
        if kind == "for":
            return f"for {self.pattern()} in {self.pick([self.expr, lambda: '0..n - 1'])()} {self.block()}"
        if kind == "while":
            return f"while {self.expr()} {self.block()}"
        if kind == "assert":
            return f"assert {self.expr()}" + (f",{self.after()}{self.expr()}" if self.chance(0.4) else "")
        return "break" if kind == "break" else self.expr()

    def block(self):
        self.depth += 1
        try:
            statements = self.some(self.statement, 0, 3)
            if self.chance(0.3):
                return "{ " + "; ".join(statements) + " }"
            text = "{" + self.pick(["", f" {self.comment()}"]) + "\n"
            for s in statements:
                text += self.lines() + s + self.pick(["\n", ";\n", f" {self.comment()}\n", "; "])
            return text + self.lines() + "}"
        finally:
            self.depth -= 1

    def lines(self):
        return "".join(self.pick(["\n", f"  {self.comment(doc=True)}\n"]) for _ in range(self.pick([0, 0, 0, 1, 2])))

    def item(self):
        kind = self.pick(["fn", "fn", "fn", "type", "const", "test", "import"])
        if kind == "fn":
            return self.function(self.pick(["export ", ""]) + "fn " + self.name())
        if kind == "type":
            return f"type {self.name()}{self.pick(['', '[a, b]'])} ={self.after()}{self.type()}"
        if kind == "const":
            return f"const {self.name()} ={self.after()}{self.expr()}"
        if kind == "test":
            return f"test {self.pick(STRINGS)} {self.block()}"
        return self.pick(["import nn", 'import "a/b.pmap" as b', "import stats as s"])

    def module(self):
        text = self.lines()
        for item in self.some(self.item, 0, 5):
            text += item + self.pick(["\n", f" {self.comment()}\n"]) + self.lines()
        return text + self.pick(["", "\n", "# the end"])


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        with open(os.path.join(folder, f"random_{seed + i}.pmap"), "w", encoding="utf-8") as out:
            out.write(Generator(seed + i).module())


if __name__ == "__main__":
    main()
