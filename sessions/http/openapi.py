"""The part of the OpenAPI document that structs are: their JSON Schema, as drf-spectacular asks for it."""

from __future__ import annotations

from typing import Any

import msgspec
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.plumbing import ResolvedComponent
from msgspec import inspect

from sessions.http.answers import is_page_only
from sessions.http.bodies import Body

_LARGE = 2**31  # a bound from here on says that the number may need 64 bits
_NAMES: dict[type, str] = {}
_PLAIN: dict[type[inspect.Type], dict[str, Any]] = {
    inspect.AnyType: {},
    inspect.BoolType: {"type": "boolean"},
    inspect.DateTimeType: {"type": "string", "format": "date-time"},
    inspect.DateType: {"type": "string", "format": "date"},
    inspect.DecimalType: {"type": "number", "format": "double"},  # a number in answers (sessions.http.rendering)
    inspect.FloatType: {"type": "number", "format": "double"},
    inspect.NoneType: {"type": "null"},
    inspect.UUIDType: {"type": "string", "format": "uuid"},
}


def published(**structs: type[msgspec.Struct]) -> None:
    """Gives structs the names that they have in the document, where these are others than in the code."""
    _NAMES.update({struct: name for name, struct in structs.items()})


class StructSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """The schema of a struct, and of all structs within."""

    target_class = "msgspec.Struct"
    match_subclasses = True

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        return _NAMES.get(self.target, self.target.__name__)

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """Returns a struct as clients see it, without what only pages show. An answer has every field."""
        info = inspect.type_info(self.target)
        assert isinstance(info, inspect.StructType)
        fields = {field.encode_name: field for field in info.fields if not is_page_only(_declared(self.target, field))}
        optional = issubclass(self.target, Body) or self.target.__struct_config__.omit_defaults
        required = sorted(name for name, field in fields.items() if field.required or not optional)
        return {
            "type": "object",
            **({"description": doc} if (doc := _doc(self.target)) else {}),
            "properties": {name: _schema(field.type, auto_schema) for name, field in fields.items()},
            **({"required": required} if required else {}),
        }


def _declared(struct: type[msgspec.Struct], field: inspect.Field) -> Any:
    return next(each.type for each in msgspec.structs.fields(struct) if each.name == field.name)


def _doc(struct: type) -> str:
    return " ".join((struct.__doc__ or "").split())


def _schema(info: inspect.Type, auto_schema: Any) -> dict[str, Any]:
    """Returns the JSON Schema of a type. drf-spectacular names lists of words, and wants them in their place."""
    match info:
        case inspect.Metadata():
            return _described(_schema(info.type, auto_schema), info.extra_json_schema or {})
        case inspect.StructType():
            component: ResolvedComponent = auto_schema.resolve_serializer(info.cls, "response")
            return dict(component.ref)
        case inspect.EnumType():
            return {"type": "string", "enum": [each.value for each in info.cls]}
        case inspect.LiteralType():
            return {"type": "string"} | ({"enum": list(info.values)} if "" not in info.values else {})
        case inspect.UnionType():
            return _union([_schema(each, auto_schema) for each in info.types])
        case inspect.DictType():
            value = _schema(info.value_type, auto_schema)
            return {"type": "object", "additionalProperties": value}
        case inspect.CollectionType():
            bounds = {"minItems": info.min_length, "maxItems": info.max_length}
            return {"type": "array", "items": _schema(info.item_type, auto_schema), **_given(bounds)}
        case inspect.StrType():
            bounds = {"minLength": info.min_length, "maxLength": info.max_length}
            return {"type": "string", **_given(bounds)}
        case inspect.IntType():
            large = {"format": "int64"} if (info.le or 0) >= _LARGE else {}
            return {"type": "integer", **_given({"minimum": info.ge, "maximum": info.le}), **large}
    return dict(_PLAIN[type(info)])


def _described(schema: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema with what is declared beside its type; a reference has no neighbours."""
    more = {name: list(each) if name == "enum" else each for name, each in more.items()}
    return {"allOf": [schema], **more} if "$ref" in schema and more else {**schema, **more}


def _union(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the schema of one of several; plain types are in one list."""
    if len(choices) == 1:
        return choices[0]
    wide = [each for each in choices if set(each) != {"type"}]
    if len(wide) > 1 or any("type" not in each or "enum" in each for each in wide):
        return {"oneOf": choices}
    rest = {name: each for choice in wide for name, each in choice.items() if name != "type"}
    return {"type": [each["type"] for each in choices], **rest}


def _given(bounds: dict[str, int | None]) -> dict[str, int]:
    return {name: bound for name, bound in bounds.items() if bound is not None}
