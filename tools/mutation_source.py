# SPDX-License-Identifier: Apache-2.0
"""A tokenizer for CUDA sources, and the little structure that mutation operators need: which
token belongs to device code and which to the host's, where brackets and statements end.

Tokens, not a syntax tree, so that it needs nothing but the standard library. The corpus is
formatted by clang-format, which is why a binary `<` can be told from a template's by its spaces.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
      | (?P<string>(?:u8|[uUL])?R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)"
                  |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
      | (?P<character>'(?:\\.|[^'\\\n])*')
      | (?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<punctuation><<<|>>>|<<=|>>=|->\*|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||::
                       |[-+*/%&|^]=|.)
    """, re.VERBOSE | re.DOTALL | re.MULTILINE)
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
OPERAND_ENDS = {")", "]"}
INTEGERS = {"int", "int64_t", "long", "unsigned", "size_t", "int32_t", "uint32_t"}
CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int
    line: int
    region: str = ""       # "device", "host" or "" (types, constants)
    checked: bool = False  # inside TORCH_CHECK(...)


class Source:
    def __init__(self, text):
        self.text = text
        self.tokens = []
        line, at = 1, 0
        for found in TOKEN.finditer(text):
            line += text.count("\n", at, found.start())
            at = found.start()
            kind = found.lastgroup if found.lastgroup != "delimiter" else "string"
            word = found.group(0)
            if kind in ("comment", "directive") or word.isspace():
                continue
            self.tokens.append(Token(kind, word, found.start(), found.end(), line))
        self.match = {}
        stack = []
        for i, token in enumerate(self.tokens):
            if token.kind != "punctuation":
                continue
            if token.text in CLOSING:
                stack.append(i)
            elif token.text in CLOSING.values() and stack:
                opening = stack.pop()
                self.match[opening], self.match[i] = i, opening
        self._mark_regions()
        self.constants = self._constants()

    def t(self, i):
        """Text of token i, "" outside."""
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def kind(self, i):
        return self.tokens[i].kind if 0 <= i < len(self.tokens) else ""

    def slice(self, first, last):
        """Source text of the tokens first..last, both included."""
        return self.text[self.tokens[first].start:self.tokens[last].end]

    def spaced(self, i):
        token = self.tokens[i]
        return self.text[token.start - 1].isspace() and self.text[token.end].isspace()

    def binary(self, i):
        before = self.t(i - 1)
        return self.spaced(i) and (self.kind(i - 1) in ("name", "number") and before != "return"
                                   or before in OPERAND_ENDS)

    def arguments(self, opening):
        """[(first, last)] token ranges between the parenthesis at `opening` and its partner."""
        out, first, i, end = [], opening + 1, opening + 1, self.match[opening]
        while i <= end:
            if i == end or self.t(i) == ",":
                if i > first:
                    out.append((first, i - 1))
                first = i + 1
            elif self.t(i) in CLOSING:
                i = self.match[i]
            i += 1
        return out

    def statement_end(self, i):
        """Index of the `;` that ends the statement at i, None if a block comes first."""
        while i < len(self.tokens):
            if self.t(i) == ";":
                return i
            if self.t(i) in ("{", "}"):
                if self.t(i) == "}" or self.t(i - 1) not in ("=", "(", ",", "return"):
                    return None
            if self.t(i) in CLOSING:
                i = self.match.get(i, len(self.tokens))
            i += 1
        return None

    def statement_start(self, i):
        before = self.t(i - 1)
        if before == ")":
            return self.t(self.match[i - 1] - 1) in ("if", "for", "while")
        return before in (";", "{", "}", "else")

    def _mark_regions(self):
        i = 0
        while i < len(self.tokens):
            if self.t(i) == "namespace":
                while self.t(i) not in ("{", ";"):
                    i += 1
                i += 1
                continue
            first, body = i, None
            while i < len(self.tokens) and self.t(i) != ";":
                if self.t(i) == "{":
                    body = i
                    i = self.match.get(i, len(self.tokens))
                    if self.t(i + 1) != ";" and self.t(first) not in ("constexpr", "const"):
                        break
                elif self.t(i) in CLOSING:
                    i = self.match.get(i, len(self.tokens))
                i += 1
            head = {self.t(k) for k in range(first, body if body is not None else i)}
            device = "__global__" in head or "__device__" in head
            function = body is not None and "(" in head and not head & {"struct", "class", "enum"}
            region = "device" if device and function else "host" if function else ""
            for k in range(first, min(i + 1, len(self.tokens))):
                self.tokens[k].region = region
            i += 1
        for i, token in enumerate(self.tokens):
            if token.text == "TORCH_CHECK" and self.t(i + 1) == "(":
                for k in range(i, self.match[i + 1] + 1):
                    self.tokens[k].checked = True

    def _constants(self):
        names = set()
        for i, token in enumerate(self.tokens):
            if token.text == "constexpr" and token.region == "":
                k = i + 1
                while self.t(k) not in ("=", ";", "["):
                    k += 1
                if self.t(k) == "=" and self.kind(k - 1) == "name" and self.t(k - 3) != "float" \
                        and self.t(k - 2) not in ("float", "double"):
                    names.add(self.t(k - 1))
        return names


def places(source, region, *texts):
    for i, token in enumerate(source.tokens):
        if token.region == region and not token.checked and token.text in texts:
            yield i


def replace(source, first, last, text):
    """One edit: the tokens first..last become text."""
    return (source.tokens[first].start, source.tokens[last].end, text)


def calls(source, region, pattern):
    """(i, arguments) of each call of a function whose name matches."""
    for i, token in enumerate(source.tokens):
        if token.region == region and not token.checked and token.kind == "name" \
                and source.t(i + 1) == "(" and re.fullmatch(pattern, token.text):
            yield i, source.arguments(i + 1)


def conditions(source, region, *keywords):
    """(first, last) of the condition of each if (...) and so on."""
    for i in places(source, region, *keywords):
        k = i + 1
        if source.t(k) == "(":
            yield k + 1, source.match[k] - 1


def ternaries(source, region):
    """(first token of the condition, `?`, `:`) of each a ? b : c."""
    for question in places(source, region, "?"):
        first = question - 1
        while source.t(first - 1) not in ("(", "=", ",", "return", ";", "{", "[", "?", ":", "") \
                or source.t(first) in OPERAND_ENDS:
            if source.t(first) in OPERAND_ENDS:
                first = source.match[first]
                if source.t(first - 1) in ("(", "=", ",", "return", ";", "{", "[", "?", ":"):
                    break
            first -= 1
        colon, depth = question + 1, 0
        while source.t(colon) != ":" or depth:
            if source.t(colon) in CLOSING:
                colon = source.match[colon]
            elif source.t(colon) == "?":
                depth += 1
            elif source.t(colon) == ":":
                depth -= 1
            colon += 1
            if colon >= len(source.tokens):
                break
        else:
            yield first, question, colon
