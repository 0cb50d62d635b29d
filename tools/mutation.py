# SPDX-License-Identifier: Apache-2.0
"""Mutation operators for CUDA sources: each names one mistake that people make in kernels.

    source = Source(text)
    for mutant in mutants(source):   # every place where an operator applies, operator by operator
        mutant.operator, mutant.line, mutant.text
"""

import dataclasses
import re

from mutation_source import (ASSIGNMENTS, CLOSING, INTEGERS, Source, calls, conditions, places,
                             replace, ternaries)

__all__ = ["OPERATORS", "WIDTH_OPERATORS", "Mutant", "Source", "mutants"]


@dataclasses.dataclass
class Mutant:
    operator: str
    line: int
    nth: int  # among those of the same operator on the same line
    before: str  # the original line
    after: str   # the same line afterwards, all of it that changed when several
    text: str


OPERATORS = {}  # name -> (generator of lists of edits, what it stands for)


def operator(name, meaning):
    def register(function):
        OPERATORS[name] = (function, meaning)
        return function
    return register


# Synchronisation.

@operator("drop_syncthreads", "a __syncthreads() is missing")
def drop_syncthreads(s):
    for i in places(s, "device", "__syncthreads"):
        yield [replace(s, i, s.match[i + 1], "(void)0")]


@operator("syncwarp_for_syncthreads", "__syncwarp() stands where the block has to meet")
def syncwarp_for_syncthreads(s):
    for i in places(s, "device", "__syncthreads"):
        yield [replace(s, i, i, "__syncwarp")]


@operator("divergent_barrier", "only some threads reach the barrier")
def divergent_barrier(s):
    for i in places(s, "device", "__syncthreads"):
        yield [replace(s, i, s.match[i + 1], "if (threadIdx.x < 5) __syncthreads()")]


@operator("drop_sync_other", "a __syncwarp(), a group's sync() or a fence is missing")
def drop_sync_other(s):
    for i in places(s, "device", "__syncwarp", "__threadfence", "__threadfence_block"):
        yield [replace(s, i, s.match[i + 1], "(void)0")]
    for i in places(s, "device", "sync"):
        if s.t(i - 1) == "." and s.t(i + 1) == "(" and s.t(i - 3) in (";", "{", "}"):
            yield [replace(s, i - 2, s.match[i + 1], "(void)0")]


@operator("drop_atomic", "an ordinary update stands where threads meet")
def drop_atomic(s):
    for i, arguments in calls(s, "device", r"atomic(Add|Sub|Max|Min|Or|And)"):
        if len(arguments) != 2 or not s.statement_start(i):
            continue
        target = s.slice(*arguments[0])
        value = s.slice(*arguments[1])
        place = target[1:] if target.startswith("&") else f"*({target})"
        update = {"Add": f"{place} += {value}", "Sub": f"{place} -= {value}",
                  "Or": f"{place} |= {value}", "And": f"{place} &= {value}",
                  "Max": f"{place} = {place} > {value} ? {place} : {value}",
                  "Min": f"{place} = {place} < {value} ? {place} : {value}"}[s.t(i)[6:]]
        yield [replace(s, i, s.match[i + 1], update)]


# Warp operations.

@operator("wrong_mask", "the member mask of a warp operation names half of a warp")
def wrong_mask(s):
    for _, arguments in calls(s, "device", r"__(shfl|ballot|any|all|match|reduce)\w*_sync"):
        if arguments:
            yield [replace(s, *arguments[0], "0x0000ffffu")]


@operator("wrong_shuffle", "the wrong shuffle or the wrong distance")
def wrong_shuffle(s):
    other = {"xor": "up", "down": "up", "up": "down", "": "_down"}
    for i, arguments in calls(s, "device", r"__shfl(_xor|_down|_up)_sync"):
        kind = s.t(i)[7:-5]
        yield [replace(s, i, i, f"__shfl_{other[kind]}_sync")]
        if len(arguments) >= 3:
            yield [replace(s, *arguments[2], f"{s.slice(*arguments[2])} + 1")]
    for i, arguments in calls(s, "device", r"shfl(_xor|_down|_up)"):
        if s.t(i - 1) == "." and len(arguments) == 2:
            yield [replace(s, *arguments[1], f"{s.slice(*arguments[1])} + 1")]


# Bounds and indices.

@operator("lt_to_le", "a comparison is off by one: < and <=, > and >=")
def lt_to_le(s):
    swap = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
    for i in places(s, "device", *swap):
        if s.binary(i):
            yield [replace(s, i, i, swap[s.t(i)])]


@operator("drop_guard", "a bounds check is missing")
def drop_guard(s):
    def bounds(first, last):
        return any(s.t(k) in ("<", ">", "<=", ">=") and s.spaced(k) for k in range(first, last + 1))
    for first, last in conditions(s, "device", "if"):
        if not bounds(first, last):
            continue
        leaves = s.t(last + 2) in ("return", "continue", "break")
        yield [replace(s, first, last, "false" if leaves else "true")]
    for first, question, _ in ternaries(s, "device"):
        if bounds(first, question - 1):
            yield [replace(s, first, question - 1, "true")]


@operator("drop_conjunct", "one half of a condition is missing")
def drop_conjunct(s):
    for first, last in list(conditions(s, "device", "if", "while")):
        tops, k = [], first
        while k <= last:
            if s.t(k) in ("&&", "||"):
                tops.append(k)
            elif s.t(k) in CLOSING:
                k = s.match[k]
            k += 1
        for number, k in enumerate(tops):
            end = tops[number + 1] - 1 if number + 1 < len(tops) else last
            yield [replace(s, k, end, "")]
        if tops:
            yield [replace(s, first, tops[0], "")]


@operator("and_to_or", "&& and || are mistaken for each other")
def and_to_or(s):
    for i in places(s, "device", "&&", "||"):
        if s.binary(i):
            yield [replace(s, i, i, "||" if s.t(i) == "&&" else "&&")]


@operator("negate_condition", "a condition is the wrong way round")
def negate_condition(s):
    for first, last in conditions(s, "device", "if"):
        yield [replace(s, first, last, f"!({s.slice(first, last)})")]


@operator("equal_to_unequal", "== and != are mistaken for each other")
def equal_to_unequal(s):
    for i in places(s, "device", "==", "!="):
        yield [replace(s, i, i, "!=" if s.t(i) == "==" else "==")]


@operator("narrow_index", "an index has too small a type")
def narrow_index(s):
    for i, token in enumerate(s.tokens):
        if token.region != "device" or token.text not in INTEGERS or s.kind(i + 1) != "name":
            continue
        if s.t(i + 2) != "=" or s.t(i - 1) == "<":
            continue
        end = s.statement_end(i) or i
        wide = any(s.t(k) == "blockIdx" for k in range(i, end)) and "*" in s.slice(i, end)
        yield [replace(s, i, i, "short" if wide else "signed char")]


@operator("narrow_parameter", "a size travels in too small a type")
def narrow_parameter(s):
    for i in places(s, "device", "__global__"):
        k = i
        while s.t(k) != "(" or s.t(k - 1) == "__launch_bounds__":
            k = s.match[k] + 1 if s.t(k) == "(" else k + 1
        for first, last in s.arguments(k):
            if last == first + 1 and s.t(first) in INTEGERS:
                yield [replace(s, first, first, "signed char")]


@operator("swap_axis", "x and y of a built-in are mistaken for each other")
def swap_axis(s):
    other = {"x": "y", "y": "x", "z": "y"}
    for i in places(s, "device", "threadIdx", "blockIdx", "blockDim", "gridDim"):
        if s.t(i + 1) == "." and s.t(i + 2) in other:
            yield [replace(s, i + 2, i + 2, other[s.t(i + 2)])]


@operator("swap_builtin", "threadIdx and blockIdx are mistaken for each other")
def swap_builtin(s):
    other = {"threadIdx": "blockIdx", "blockIdx": "threadIdx", "blockDim": "gridDim",
             "gridDim": "blockDim"}
    for i in places(s, "device", *other):
        yield [replace(s, i, i, other[s.t(i)])]


@operator("swap_subscripts", "row and column of an array are mistaken for each other")
def swap_subscripts(s):
    for i, token in enumerate(s.tokens):
        if token.region != "device" or token.kind != "name" or s.t(i + 1) != "[":
            continue
        second = s.match[i + 1] + 1
        if s.t(second) != "[" or s.kind(i - 1) == "name" and s.t(i - 1) != "return":
            continue  # the second: a declaration
        a = s.slice(i + 2, second - 2)
        b = s.slice(second + 1, s.match[second] - 1)
        if a != b:
            yield [replace(s, i + 2, second - 2, b), replace(s, second + 1, s.match[second] - 1, a)]


@operator("swap_row_column", "row and column of a flat index are mistaken for each other")
def swap_row_column(s):
    for i, token in enumerate(s.tokens):
        if token.region == "device" and token.text == "*" and s.binary(i) \
                and s.kind(i - 1) == s.kind(i + 1) == s.kind(i + 3) == "name" \
                and s.t(i + 2) == "+" and s.t(i - 2) not in ("*", "/", "%", ".", "::", "->") \
                and s.t(i + 4) not in ("*", "/", "%", ".", "[", "(", "->") \
                and s.t(i - 1) != s.t(i + 3):
            yield [replace(s, i - 1, i - 1, s.t(i + 3)), replace(s, i + 3, i + 3, s.t(i - 1))]


@operator("index_off_by_one", "an array element beside the right one")
def index_off_by_one(s):
    for i in places(s, "device", "["):
        if s.kind(i - 1) != "name" or s.kind(i - 2) == "name" and s.t(i - 2) != "return":
            continue
        if s.match[i] > i + 1:
            yield [replace(s, i + 1, s.match[i] - 1, f"{s.slice(i + 1, s.match[i] - 1)} + 1")]


@operator("plus_to_minus", "+ and - are mistaken for each other")
def plus_to_minus(s):
    for i in places(s, "device", "+", "-"):
        if s.binary(i):
            yield [replace(s, i, i, "-" if s.t(i) == "+" else "+")]


@operator("times_to_plus", "* is mistaken for +, % for /")
def times_to_plus(s):
    other = {"*": "+", "%": "/", "/": "*"}
    for i in places(s, "device", *other):
        if s.binary(i):
            yield [replace(s, i, i, other[s.t(i)])]


@operator("assign_for_accumulate", "= stands where a value has to be accumulated")
def assign_for_accumulate(s):
    for i in places(s, "device", "+=", "*=", "|="):
        if s.statement_end(i) is not None:
            yield [replace(s, i, i, "=")]


# Loops.

def loops(s):
    """(for, [(first, last) of initialisation, condition, step])"""
    for i in places(s, "device", "for"):
        end = s.match[i + 1]
        semicolons = [k for k in range(i + 2, end) if s.t(k) == ";"]
        if len(semicolons) == 2:
            a, b = semicolons
            yield i, [(i + 2, a - 1), (a + 1, b - 1), (b + 1, end - 1)]


@operator("wrong_stride", "the step of a loop is off by one or doubled")
def wrong_stride(s):
    for _, parts in loops(s):
        first, last = parts[2]
        for k in range(first, last + 1):
            if s.t(k) in ("+=", "-="):
                yield [replace(s, k + 1, last, f"{s.slice(k + 1, last)} + 1")]
            elif s.t(k) in ("/=", "*=", ">>=", "<<="):
                yield [replace(s, k + 1, last, f"{s.slice(k + 1, last)} * 2")]


@operator("wrong_start", "a loop begins one too late")
def wrong_start(s):
    for _, parts in loops(s):
        first, last = parts[0]
        for k in range(first, last):
            if s.t(k) == "=":
                yield [replace(s, k + 1, last, f"{s.slice(k + 1, last)} + 1")]
                break


@operator("short_loop", "a loop ends one step too early")
def short_loop(s):
    for _, parts in loops(s):
        first, last = parts[1]
        for k in range(first, last):
            if s.t(k) in ("<", "<=") and s.spaced(k):
                yield [replace(s, k + 1, last, f"{s.slice(k + 1, last)} - 1")]
            elif s.t(k) in (">", ">=") and s.spaced(k):
                yield [replace(s, k + 1, last, f"{s.slice(k + 1, last)} + 1")]


@operator("once_for_loop", "the loop over all elements runs once")
def once_for_loop(s):
    for _, parts in loops(s):
        if any(s.t(k) in ("kThreads", "stride", "warpSize", "blockDim") for k in
               range(parts[2][0], parts[2][1] + 1)):
            after = parts[2][1] + 2
            if s.t(after) == "{":
                yield [(s.tokens[s.match[after]].start, s.tokens[s.match[after]].start, "break; ")]


# Values.

@operator("drop_init", "a variable is not initialised")
def drop_init(s):
    for i, token in enumerate(s.tokens):
        if token.region == "device" and token.text in ("float", "double", "int", "int64_t") \
                and s.kind(i + 1) == "name" and s.t(i + 2) == "=" and s.t(i - 1) in (";", "{", "}"):
            end = s.statement_end(i)
            if end is not None and "," not in s.slice(i, end):
                yield [replace(s, i + 2, end - 1, "")]


@operator("drop_shared_init", "shared memory or an array is not set before its use")
def drop_shared_init(s):
    for i, token in enumerate(s.tokens):
        if token.region != "device" or token.kind != "name" or not s.statement_start(i) \
                or s.t(i + 1) != "[":
            continue
        k = s.match[i + 1] + 1
        while s.t(k) == "[":
            k = s.match[k] + 1
        end = s.statement_end(i)
        if s.t(k) == "=" and end is not None:
            yield [replace(s, i, end, ";")]


@operator("wrong_init", "an accumulator begins with the wrong value")
def wrong_init(s):
    other = {"0.0f": "1.0f", "INFINITY": "0.0f", "0.0": "1.0", "1.0f": "0.0f", "0.f": "1.f"}
    for i, token in enumerate(s.tokens):
        if token.region == "device" and token.text in other:
            first = i - 1 if s.t(i - 1) == "-" and token.text == "INFINITY" else i
            if s.t(first - 1) in ("=", ":", "return"):
                yield [replace(s, first, i, other[token.text])]


@operator("wrong_constant", "a number is slightly wrong")
def wrong_constant(s):
    for i, token in enumerate(s.tokens):
        if token.region != "device" or token.kind != "number":
            continue
        if re.fullmatch(r"\d+\.\d*f?", token.text) and float(token.text.rstrip("f")) != 0.0:
            suffix = "f" if token.text.endswith("f") else ""
            yield [replace(s, i, i, repr(float(token.text.rstrip("f")) * 1.125) + suffix)]
        elif re.fullmatch(r"[2-9]|[1-9]\d+", token.text):
            yield [replace(s, i, i, str(int(token.text) + 1))]


@operator("max_to_min", "minimum and maximum are mistaken for each other")
def max_to_min(s):
    for i, _ in calls(s, "device", r"f?(max|min)f?|atomic(Max|Min)|__h(max|min)2?"):
        text = s.t(i)
        swapped = re.sub("max|min|Max|Min", lambda m: {"max": "min", "min": "max", "Max": "Min",
                                                       "Min": "Max"}[m.group(0)], text)
        yield [replace(s, i, i, swapped)]


@operator("wrong_function", "a neighbouring mathematical function")
def wrong_function(s):
    other = {"expf": "exp2f", "logf": "log2f", "sqrtf": "rsqrtf", "rsqrtf": "sqrtf",
             "tanhf": "sinhf",
             "erff": "tanhf", "erfcf": "erff", "cosf": "sinf", "sinf": "cosf", "fabsf": "",
             "sincospif": "sincosf", "floorf": "ceilf", "log1pf": "logf"}
    for i, _ in calls(s, "device", "|".join(other)):
        yield [replace(s, i, i, other[s.t(i)])]


@operator("drop_addend", "fmaf loses its addend")
def drop_addend(s):
    for i, arguments in calls(s, "device", "fmaf?"):
        if len(arguments) == 3:
            yield [replace(s, *arguments[2], "0.0f")]


@operator("no_max_subtraction", "an exponential is not kept in range")
def no_max_subtraction(s):
    for _, arguments in calls(s, "device", "expf?"):
        if len(arguments) != 1:
            continue
        first, last = arguments[0]
        for k in range(first + 1, last):
            if s.t(k) == "-" and s.binary(k):
                yield [replace(s, k, last, "")]
                break


@operator("swap_branches", "the two values of a conditional are exchanged")
def swap_branches(s):
    for _, question, colon in ternaries(s, "device"):
        end = colon + 1
        while s.t(end) not in (";", ",", ")", "]", "}", ""):
            end = s.match[end] + 1 if s.t(end) in CLOSING else end + 1
        a = s.slice(question + 1, colon - 1)
        b = s.slice(colon + 1, end - 1)
        if "?" not in a and "?" not in b:
            yield [replace(s, question + 1, colon - 1, b), replace(s, colon + 1, end - 1, a)]


@operator("drop_negation", "a sign is lost")
def drop_negation(s):
    for i in places(s, "device", "-"):
        if not s.spaced(i) and s.t(i - 1) in ("(", ",", "=", "return", ":", "?", "*") \
                and s.t(i + 1) != "1":
            yield [replace(s, i, i, "")]


@operator("drop_statement", "a statement is missing")
def drop_statement(s):
    for i, token in enumerate(s.tokens):
        if token.region != "device" or not s.statement_start(i):
            continue
        end = s.statement_end(i)
        if end is None or not (token.kind == "name" and s.t(i + 1) in {"[", ".", "->"} | ASSIGNMENTS
                               or token.text == "*"):
            continue
        if any(s.t(k) in ASSIGNMENTS for k in range(i, end)):
            yield [replace(s, i, end, ";")]


@operator("drop_else", "the other branch, often the tail, is missing")
def drop_else(s):
    for i in places(s, "device", "else"):
        if s.t(i + 1) == "{":
            yield [replace(s, i, s.match[i + 1], "")]
        elif s.t(i + 1) != "if":
            end = s.statement_end(i + 1)
            if end is not None:
                yield [replace(s, i, end, "")]


# Sizes that two places have to agree on.

@operator("tile_mismatch", "one use of a tile or block size differs from the others")
def tile_mismatch(s):
    for i, token in enumerate(s.tokens):
        if token.region == "device" and token.text in s.constants:
            yield [replace(s, i, i, f"({token.text} / 2)")]


@operator("shared_too_small", "a shared array lacks its last element")
def shared_too_small(s):
    for i in places(s, "device", "__shared__"):
        k = i
        while s.t(k) not in ("[", ";"):
            k += 1
        if s.t(k) == "[" and s.match[k] > k + 1:
            yield [replace(s, k + 1, s.match[k] - 1, f"{s.slice(k + 1, s.match[k] - 1)} - 1")]


# The host's half.

def launches(s):
    """[(first, last)] of grid, block, shared bytes, stream of each <<<...>>>."""
    for i in places(s, "host", "<<<"):
        k, first, parts = i + 1, i + 1, []
        while s.t(k) != ">>>" and k < len(s.tokens):
            if s.t(k) == ",":
                parts.append((first, k - 1))
                first = k + 1
            elif s.t(k) in CLOSING:
                k = s.match[k]
            k += 1
        yield parts + [(first, k - 1)]


@operator("grid_rounded_down", "the grid is rounded down")
def grid_rounded_down(s):
    for i, token in enumerate(s.tokens):
        # (n + k - 1) / k or (n + 7) / 8
        if token.region != "host" or token.checked or token.text != "(" or i not in s.match:
            continue
        end = s.match[i]
        if s.t(end + 1) != "/":
            continue
        for k in range(i + 1, end):
            if s.t(k) == "+" and (s.t(end - 1) == "1" and s.t(end - 2) == "-"
                                  or s.kind(end - 1) == "number"):
                yield [replace(s, k, end - 1, "")]
                break


@operator("grid_too_small", "a block is missing from the grid")
def grid_too_small(s):
    for parts in launches(s):
        first, last = parts[0]
        if s.slice(first, last) != "1" and s.t(first) != "dim3":
            yield [replace(s, first, last, f"{s.slice(first, last)} - 1")]


@operator("block_halved", "the block has half of the threads that the kernel counts on")
def block_halved(s):
    for parts in launches(s):
        if len(parts) < 2:
            continue
        first, last = parts[1]
        if s.t(first) == "dim3" and s.t(first + 1) == "(":
            first, last = s.arguments(first + 1)[-1]
        yield [replace(s, first, last, f"({s.slice(first, last)}) / 2")]


@operator("shared_bytes_wrong", "too little dynamic shared memory")
def shared_bytes_wrong(s):
    for parts in launches(s):
        if len(parts) >= 3 and s.slice(*parts[2]) != "0":
            yield [replace(s, *parts[2], f"{s.slice(*parts[2])} / 2")]
            yield [replace(s, *parts[2], f"{s.slice(*parts[2])} - 4")]


@operator("drop_contiguous", "strides of the argument are ignored")
def drop_contiguous(s):
    for i in places(s, "host", "contiguous"):
        if s.t(i - 1) == "." and s.t(i + 1) == "(":
            yield [replace(s, i - 1, s.match[i + 1], "")]


@operator("empty_for_zeros", "a buffer that has to be zero is not")
def empty_for_zeros(s):
    for i in places(s, "host", "zeros", "zeros_like"):
        yield [replace(s, i, i, s.t(i).replace("zeros", "empty"))]
    for i in places(s, "host", "zero_"):
        if s.t(i - 1) == "." and s.statement_start(i - 2):
            yield [replace(s, i - 2, s.match[i + 1], "(void)0")]


@operator("swap_sizes", "two dimensions are mistaken for each other")
def swap_sizes(s):
    other = {"0": "1", "1": "0", "2": "3", "3": "2"}
    for i, arguments in calls(s, "host", "size"):
        if s.t(i - 1) == "." and len(arguments) == 1 and s.slice(*arguments[0]) in other:
            yield [replace(s, *arguments[0], other[s.slice(*arguments[0])])]


@operator("drop_empty_check", "an empty tensor is not treated apart")
def drop_empty_check(s):
    for i in places(s, "host", "if"):
        end = s.match[i + 1]
        if s.t(end - 1) == "0" and s.t(end - 2) == "==" and s.t(end + 1) == "return":
            yield [replace(s, i, s.statement_end(end + 1), ";")]


@operator("host_arithmetic", "a size is computed wrongly")
def host_arithmetic(s):
    for i in places(s, "host", "+", "-", "*"):
        if s.binary(i) and s.kind(i + 1) in ("name", "number"):
            yield [replace(s, i, i, {"+": "-", "-": "+", "*": "+"}[s.t(i)])]


@operator("drop_launch", "a launch is missing")
def drop_launch(s):
    for i in places(s, "host", "<<<"):
        first = i
        while not s.statement_start(first) and first > 0:
            first -= 1
        end = s.statement_end(i)
        if end is not None:
            yield [replace(s, first, end, ";")]


# For targets whose warps have another width; the other operators are tried at width 32.
WIDTH_OPERATORS = {"warp_size_32"}


@operator("warp_size_32", "32 stands where the width of a warp is meant")
def warp_size_32(s):
    for i in places(s, "device", "warpSize"):
        yield [replace(s, i, i, "32")]


def apply(text, edits):
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def mutants(source, names=None):
    """Every mutant of the operators named (all of them when None)."""
    lines = source.text.split("\n")
    for name, (generate, _) in OPERATORS.items():
        if names is not None and name not in names:
            continue
        seen, counts = set(), {}
        for edits in generate(source):
            text = apply(source.text, edits)
            if text == source.text or text in seen:
                continue
            seen.add(text)
            first = source.text.count("\n", 0, min(e[0] for e in edits)) + 1
            last = source.text.count("\n", 0, max(e[1] for e in edits)) + 1
            changed = text.split("\n")[first - 1:last + text.count("\n") - source.text.count("\n")]
            counts[first] = counts.get(first, 0) + 1
            yield Mutant(operator=name, line=first, nth=counts[first],
                         before=" ".join(x.strip() for x in lines[first - 1:last]),
                         after=" ".join(x.strip() for x in changed), text=text)
