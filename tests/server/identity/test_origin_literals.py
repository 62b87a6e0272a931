"""Who asks for an origin is given the registered text, and never gets the asked one back."""

import pytest

from chatkey_server.identity import origins


@pytest.mark.contract("D-08/literal")
def test_a_match_is_the_registered_literal_and_not_the_text_of_the_request() -> None:
    registered = origins.registrable("shop.example")
    asked = "".join(list(registered[0]))

    found = origins.match(asked, registered)

    assert found is registered[0]
    assert found is not asked
