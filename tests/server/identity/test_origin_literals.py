"""Looking up an origin must return the registered string, never the string from the request."""

import pytest

from chatkey_server.identity import origins


@pytest.mark.contract("D-08/literal")
def test_a_match_is_the_registered_literal_and_not_the_text_of_the_request() -> None:
    registered = origins.registrable("shop.example")
    asked = "".join(list(registered[0]))

    found = origins.match(asked, registered)

    assert found is registered[0]
    assert found is not asked
