"""The data in a pickle, without unpickling: nothing is imported, called or made.

`pickletools` only takes a pickle apart into its opcodes (their meaning:
https://docs.python.org/3/library/pickletools.html). Texts, numbers, lists and objects are put
together again here; a class, a call or an instance stays a `Made`, which holds its arguments.

A `pickle.Unpickler` whose `find_class` returns only inert classes was tried instead: it calls
nothing, but nine bytes (LONG_BINPUT) make it fill a gigabyte, and sixty bytes of nested tuples as a
key of a dictionary make it hash for years. Neither can be stopped from `find_class`, so this reader
stays.
"""

from __future__ import annotations

import pickletools
from typing import Any

# More than any point with a vector of 4096 numbers and a long text takes.
LARGEST = 4 * 2**20
# In bits, as numbers have elsewhere; a larger one takes long to be written in digits.
LONGEST_NUMBER = 64

VALUES = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING"
    " UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES BINBYTES8"
    " BYTEARRAY8".split()
)
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}


class Made:
    """A class, or what unpickling would have made by calling one."""

    def __init__(self, *parts: object) -> None:
        self.parts = parts
        self.state: object = None


class NotData(ValueError):
    """The bytes are no pickle, or one with opcodes that plain data does not need."""


def data(raw: bytes) -> object:
    """The value in the pickle, or `NotData`."""
    if len(raw) > LARGEST:
        raise NotData(f"It is larger than {LARGEST // 2**20} MB.")
    stack = _Stack()
    try:
        for opcode, argument, _ in pickletools.genops(raw):
            stack.step(opcode.name, argument)
        return stack.values.pop()
    except NotData:
        raise
    # Broken bytes can raise any of these: an empty stack, a key that cannot be hashed.
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise NotData("It is not a pickle that holds only data.") from error


class _Stack:
    """The stack and the memo of the pickle machine."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        values = self.values
        match name:
            case "PROTO" | "FRAME" | "STOP":
                return
            case _ if name in VALUES:
                if isinstance(argument, int) and argument.bit_length() > LONGEST_NUMBER:
                    raise NotData("It holds a number that is too large.")
                values.append(argument)
            case _ if name in CONSTANTS:
                values.append(CONSTANTS[name])
            case "MARK":
                self.marks.append(len(values))
            case "MEMOIZE":
                self.memo[len(self.memo)] = values[-1]
            case "PUT" | "BINPUT" | "LONG_BINPUT":
                self.memo[argument] = values[-1]
            case "GET" | "BINGET" | "LONG_BINGET":
                values.append(self.memo[argument])
            case "POP":
                values.pop()
            case "DUP":
                values.append(values[-1])
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                values.append(tuple(self._last(int(name[-1]))))
            case "TUPLE":
                values.append(tuple(self._marked()))
            # A set is a list here, since its members may be lists.
            case "EMPTY_LIST" | "EMPTY_SET":
                values.append([])
            case "LIST" | "FROZENSET":
                values.append(self._marked())
            case "APPEND":
                last = values.pop()
                values[-1].append(last)
            case "APPENDS" | "ADDITEMS":
                several = self._marked()
                values[-1].extend(several)
            case "EMPTY_DICT":
                values.append({})
            case "DICT":
                values.append(dict(_pairs(self._marked())))
            case "SETITEM" | "SETITEMS":
                several = self._last(2) if name == "SETITEM" else self._marked()
                values[-1].update(_pairs(several))
            case "GLOBAL":
                values.append(Made(argument))
            case "STACK_GLOBAL" | "REDUCE" | "NEWOBJ":
                values.append(Made(*self._last(2)))
            case "NEWOBJ_EX":
                values.append(Made(*self._last(3)))
            case "BUILD":
                state = values.pop()
                if isinstance(values[-1], Made):
                    values[-1].state = state
            case _:
                raise NotData(f"It has the opcode {name}, which plain data does not need.")

    def _last(self, count: int) -> list[Any]:
        """The last values, taken off the stack."""
        if count > len(self.values):
            raise NotData("It takes more than it holds.")
        found = self.values[-count:]
        del self.values[-count:]
        return found

    def _marked(self) -> list[Any]:
        """The values since the last mark, taken off the stack."""
        start = self.marks.pop()
        found = self.values[start:]
        del self.values[start:]
        return found


def _pairs(values: list[Any]) -> list[tuple[Any, Any]]:
    """Keys and values. Only scalars are keys: nested tuples can take for ever to hash."""
    keys = values[::2]
    if not all(isinstance(key, str | int | float | None) for key in keys):
        raise NotData("It has keys that are neither texts nor numbers.")
    return list(zip(keys, values[1::2], strict=True))
