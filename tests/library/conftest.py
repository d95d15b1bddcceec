"""Custom operators that go when the test ends."""

from __future__ import annotations

import pytest

from minitorch.dispatch import dispatcher
from minitorch.library import Library, custom_op


@pytest.fixture
def make_op():
    """Make custom operators as `custom_op` does; undo them afterwards."""
    made = []

    def make(name, fn=None, /, **options):
        options.setdefault("mutates_args", ())

        def define(function):
            definition = custom_op(f"testing::{name}", function, **options)
            made.append(definition)
            return definition

        return define if fn is None else define(fn)

    yield make
    for definition in made:
        definition._lib._destroy()


@pytest.fixture
def library():
    """Make libraries of the namespace ``testing`` that are destroyed when the test ends."""
    made = []

    def make(kind="FRAGMENT"):
        made.append(Library("testing", kind))
        return made[-1]

    yield make
    for lib in made:
        lib._destroy()


@pytest.fixture(autouse=True)
def _no_override_warning(monkeypatch):
    monkeypatch.setattr(dispatcher, "_override_warned", True)
