"""`NamedTuple` as the modules of a search use it: like typing's."""

from __future__ import annotations

import pickle
from typing import get_type_hints

import pytest

from recollect.named_tuples import NamedTuple


class Point(NamedTuple):
    """A place."""

    x: int
    y: int = 2

    @property
    def total(self) -> int:
        return self.x + self.y


def test_it_has_the_fields_defaults_methods_and_docstring_of_the_class() -> None:
    assert Point(1) == (1, 2) == Point(y=2, x=1)
    assert Point(1)._replace(y=5).total == 6
    assert (Point._fields, Point._field_defaults) == (("x", "y"), {"y": 2})
    assert (Point.__doc__, Point.__module__) == ("A place.", __name__)
    assert repr(Point(1)) == "Point(x=1, y=2)"
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]


def test_it_can_be_asked_for_its_types_and_travels_to_another_process() -> None:
    assert get_type_hints(Point) == {"x": int, "y": int}
    assert type(pickle.loads(pickle.dumps(Point(1)))) is Point
