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
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
MEANINGLESS = frozenset({"PROTO", "FRAME", "STOP"})


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
        if name in VALUES:
            if isinstance(argument, int) and argument.bit_length() > LONGEST_NUMBER:
                raise NotData("It holds a number that is too large.")
            self.values.append(argument)
        elif name in CONSTANTS:
            self.values.append(CONSTANTS[name])
        elif name in TUPLES:
            self._put(tuple(self._last(TUPLES[name])))
        elif name not in MEANINGLESS:
            act = getattr(self, f"_do_{name.lower()}", None)
            if act is None:
                raise NotData(f"It has the opcode {name}, which plain data does not need.")
            act(argument)

    def _put(self, value: object) -> None:
        self.values.append(value)

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

    def _do_mark(self, _: Any) -> None:
        self.marks.append(len(self.values))

    def _do_memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.values[-1]

    def _do_binput(self, number: Any) -> None:
        self.memo[number] = self.values[-1]

    _do_put = _do_long_binput = _do_binput

    def _do_binget(self, number: Any) -> None:
        self._put(self.memo[number])

    _do_get = _do_long_binget = _do_binget

    def _do_pop(self, _: Any) -> None:
        self.values.pop()

    def _do_dup(self, _: Any) -> None:
        self._put(self.values[-1])

    def _do_tuple(self, _: Any) -> None:
        self._put(tuple(self._marked()))

    def _do_empty_list(self, _: Any) -> None:
        self._put([])

    # A set is a list here, since its members may be lists.
    _do_empty_set = _do_empty_list

    def _do_list(self, _: Any) -> None:
        self._put(self._marked())

    _do_frozenset = _do_list

    def _do_append(self, _: Any) -> None:
        value = self.values.pop()
        self.values[-1].append(value)

    def _do_appends(self, _: Any) -> None:
        values = self._marked()
        self.values[-1].extend(values)

    _do_additems = _do_appends

    def _do_empty_dict(self, _: Any) -> None:
        self._put({})

    def _do_dict(self, _: Any) -> None:
        values = self._marked()
        self._put(dict(_pairs(values)))

    def _do_setitem(self, _: Any) -> None:
        values = self._last(2)
        self.values[-1].update(_pairs(values))

    def _do_setitems(self, _: Any) -> None:
        values = self._marked()
        self.values[-1].update(_pairs(values))

    def _do_global(self, name: Any) -> None:
        self._put(Made(name))

    def _do_stack_global(self, _: Any) -> None:
        self._put(Made(*self._last(2)))

    def _do_reduce(self, _: Any) -> None:
        self._put(Made(*self._last(2)))

    _do_newobj = _do_reduce

    def _do_newobj_ex(self, _: Any) -> None:
        self._put(Made(*self._last(3)))

    def _do_build(self, _: Any) -> None:
        state = self.values.pop()
        if isinstance(self.values[-1], Made):
            self.values[-1].state = state


def _pairs(values: list[Any]) -> list[tuple[Any, Any]]:
    """Keys and values. Only scalars are keys: nested tuples can take for ever to hash."""
    keys = values[::2]
    if not all(isinstance(key, str | int | float | None) for key in keys):
        raise NotData("It has keys that are neither texts nor numbers.")
    return list(zip(keys, values[1::2], strict=True))
