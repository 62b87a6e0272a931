"""All properties of functions that run in this process."""

from typing import Final

import connection_properties
import frame_properties
import json_properties
import origin_properties
import parameter_properties
import proof_properties
import state_properties
import token_properties

IN_PROCESS: Final = (
    *token_properties.PROPERTIES,
    *proof_properties.PROPERTIES,
    *state_properties.PROPERTIES,
    *origin_properties.PROPERTIES,
    *json_properties.PROPERTIES,
    *parameter_properties.PROPERTIES,
    *frame_properties.PROPERTIES,
    *connection_properties.PROPERTIES,
)
