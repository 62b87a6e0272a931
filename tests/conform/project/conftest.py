"""Fixtures of the harness with the Node service in place of our own server.

Here, our server only serves the widget's files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from tests.conform.nodes import OFFERED, Wishes, node_service, places

from chatkey_e2e.overrides import *
from chatkey_stack.applications import new_application
from chatkey_stack.lab import ServiceLab
from chatkey_stack.ports import free_ports
from chatkey_stack.stack import Flavour, Stack, running
from chatkey_stack.tls import Certificates


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory, chatkey_certificates: Certificates) -> Iterator[Stack]:
    """The Node service, the fake provider and the shop, over TLS on three sites."""
    node_port, assets_port, provider_port, site_port = free_ports(4)
    node_url, assets_url = (f"https://chat.localhost:{port}" for port in (node_port, assets_port))
    with running(
        Flavour.TLS,
        folder=tmp_path_factory.mktemp("stack"),
        ports=(assets_port, provider_port, site_port),
        settings={"CHATKEY_BASE_URL": node_url, "CHATKEY_ASSETS_URL": f"{assets_url}/assets"},
        certificates=chatkey_certificates,
        socials=OFFERED,
    ) as ours:
        socials = places(ours.provider.browser_url, ours.provider.local_url)
        wishes = Wishes(node_url, node_port, chatkey_certificates, socials, {"tokenRate": 0, "oauthRate": 0})
        with (
            node_service(tmp_path_factory.mktemp("node"), wishes) as served,
            closing(ServiceLab(served.local_url, chatkey_certificates.ca)) as lab,
        ):
            yield registered(replace(ours, service=served, service_lab=lab))


def registered(stack: Stack) -> Stack:
    """Register the service's own keys for the social providers that it supports."""
    for social in OFFERED:
        application = new_application(social, f"node-{social}")
        stack.register(application, "Node Service")
        stack.service_lab.set_application(application)
    return stack
