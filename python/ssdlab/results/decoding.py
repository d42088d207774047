"""Makes dataclasses from parsed JSON."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

field_types = cache(get_type_hints)
"""The types of the fields of a dataclass, by name."""


def from_json(kind: Any, value: Any) -> Any:  # noqa: ANN401 - whatever `kind` says
    """`value` of parsed JSON as a `kind`; fields that the dataclass does not have are ignored."""
    return None if value is None else _decoder(kind)(value)


@cache
def _decoder(kind: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """Builds a `kind` from parsed JSON that is not null."""
    if hasattr(kind, "__dataclass_fields__"):
        return _of_fields(kind)
    origin, args = get_origin(kind), get_args(kind)
    if origin is types.UnionType:
        return _decoder(args[0])
    if origin is tuple:
        return lambda value: tuple(from_json(args[0], item) for item in value)
    if origin is dict:
        return lambda value: {key: from_json(args[1], item) for key, item in value.items()}
    if origin is not None:
        import numpy as np

        assert origin is np.ndarray, kind
        return lambda value: np.array(value, dtype=get_args(args[1])[0])
    return float if kind is float else lambda value: value


def _of_fields(kind: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """Builds a dataclass from a JSON object."""
    kinds = field_types(kind)
    decoders = [(item.name, _decoder(kinds[item.name])) for item in fields(kind)]

    def build(value: Mapping[str, Any]) -> Any:  # noqa: ANN401
        items = ((name, value.get(name), decode) for name, decode in decoders)
        return kind(
            **{name: None if item is None else decode(item) for name, item, decode in items}
        )

    return build
