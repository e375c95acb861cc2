"""Validates what a tool returns against its output schema: the part of JSON Schema that berth's output
schemas use. A keyword that is not known here is an error, so that none goes unchecked."""

import json
import pathlib

SCHEMAS = pathlib.Path(__file__).resolve().parent.parent.parent / "schemas" / "tools"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}
KNOWN = {"type", "description", "properties", "required", "additionalProperties", "enum", "minimum",
         "items"}


def input_schema(tool):
    """What schemas/tools/TOOL.json says."""
    return json.loads((SCHEMAS / f"{tool}.json").read_text(encoding="utf-8"))


def output_schema(tool):
    """What schemas/tools/TOOL.output.json says."""
    return json.loads((SCHEMAS / f"{tool}.output.json").read_text(encoding="utf-8"))


def mistakes(value, schema, place="result"):
    """What is wrong with the value, as lines; empty when it is valid."""
    if unknown := set(schema) - KNOWN:
        raise NotImplementedError(f"{place}: schema with {sorted(unknown)}")
    found = []
    if not _has_type(value, schema["type"]):
        return [f"{place}: {value!r:.100} is no {schema['type']}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{place}: {value!r:.100} is none of {schema['enum']}")
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{place}: {value} is below {schema['minimum']}")
    if isinstance(value, dict):
        found += _mistakes_of_object(value, schema, place)
    if isinstance(value, list):
        for number, item in enumerate(value):
            found += mistakes(item, schema["items"], f"{place}[{number}]")
    return found


def _mistakes_of_object(value, schema, place):
    properties = schema.get("properties", {})
    found = [f"{place}: {name} is missing" for name in schema.get("required", [])
             if name not in value]
    others = schema.get("additionalProperties", True)
    for name, member in value.items():
        if name in properties:
            found += mistakes(member, properties[name], f"{place}.{name}")
        elif isinstance(others, dict):
            found += mistakes(member, others, f"{place}.{name}")
        elif not others:
            found.append(f"{place}: {name} is not in the schema")
    return found


def _has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])
