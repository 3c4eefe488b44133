"""Read the data in a pickle without unpickling it: nothing is imported, called or instantiated.

`pickletools` only splits a pickle into its opcodes (their meaning:
https://docs.python.org/3/library/pickletools.html). This rebuilds texts, numbers, lists and
dictionaries; a class, a call or an instance becomes a `Made` with its arguments.

A `pickle.Unpickler` whose `find_class` returns only inert classes was tried instead: it calls
nothing, but nine bytes (LONG_BINPUT) make it fill a gigabyte, and sixty bytes of nested tuples as a
key of a dictionary make it hash for years. `find_class` can stop neither.
"""

from __future__ import annotations

import pickletools
from typing import Any

# More than any point with a vector of 4096 numbers and a long text.
LARGEST = 4 * 2**20
# In bits; writing a much larger number in digits takes long.
LONGEST_NUMBER = 64

VALUES = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING"
    " UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES BINBYTES8"
    " BYTEARRAY8".split()
)
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}


class Made:
    """A class, or the instance that unpickling would have made by calling one."""

    def __init__(self, *parts: object) -> None:
        self.parts = parts
        self.state: object = None


class NotData(ValueError):
    """The bytes are no pickle, or one with opcodes that plain data does not need."""


def read_pickle(raw: bytes) -> object:
    """Return the value in the pickle, or raise `NotData`."""
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
                values.append(tuple(self._pop(int(name[-1]))))
            case "TUPLE":
                values.append(tuple(self._pop_to_mark()))
            # A set becomes a list, since its members may be lists.
            case "EMPTY_LIST" | "EMPTY_SET":
                values.append([])
            case "LIST" | "FROZENSET":
                values.append(self._pop_to_mark())
            case "APPEND":
                last = values.pop()
                values[-1].append(last)
            case "APPENDS" | "ADDITEMS":
                several = self._pop_to_mark()
                values[-1].extend(several)
            case "EMPTY_DICT":
                values.append({})
            case "DICT":
                values.append(dict(_pairs(self._pop_to_mark())))
            case "SETITEM" | "SETITEMS":
                several = self._pop(2) if name == "SETITEM" else self._pop_to_mark()
                values[-1].update(_pairs(several))
            case "GLOBAL":
                values.append(Made(argument))
            case "STACK_GLOBAL" | "REDUCE" | "NEWOBJ":
                values.append(Made(*self._pop(2)))
            case "NEWOBJ_EX":
                values.append(Made(*self._pop(3)))
            case "BUILD":
                state = values.pop()
                if isinstance(values[-1], Made):
                    values[-1].state = state
            case _:
                raise NotData(f"It has the opcode {name}, which plain data does not need.")

    def _pop(self, count: int) -> list[Any]:
        """Take the last values off the stack."""
        if count > len(self.values):
            raise NotData("It takes more than it holds.")
        values = self.values[-count:]
        del self.values[-count:]
        return values

    def _pop_to_mark(self) -> list[Any]:
        """Take the values since the last mark off the stack."""
        start = self.marks.pop()
        values = self.values[start:]
        del self.values[start:]
        return values


def _pairs(values: list[Any]) -> list[tuple[Any, Any]]:
    """Return keys with values. Only scalars may be keys: nested tuples can take forever to hash."""
    keys = values[::2]
    if not all(isinstance(key, str | int | float | None) for key in keys):
        raise NotData("It has keys that are neither texts nor numbers.")
    return list(zip(keys, values[1::2], strict=True))
