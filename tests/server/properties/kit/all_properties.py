"""All properties of functions that run in this process."""

from typing import Final

from tests.server.properties.kit import (
    frame_properties,
    json_properties,
    origin_properties,
    parameter_properties,
    proof_properties,
    token_properties,
)

IN_PROCESS: Final = (
    *token_properties.PROPERTIES,
    *proof_properties.PROPERTIES,
    *origin_properties.PROPERTIES,
    *json_properties.PROPERTIES,
    *parameter_properties.PROPERTIES,
    *frame_properties.PROPERTIES,
)
