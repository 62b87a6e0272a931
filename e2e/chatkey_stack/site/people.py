"""The people who can sign in at the shops."""

from html import escape

from chatkey_stack.site.token_backend import Person

PEOPLE = (
    ("u-1001", "Ada Lindqvist", "ada@example.test"),
    ("u-1002", "Tomás Okafor", "tomas@example.test"),
    ("u-1003", "渡辺 みなみ", "minami@example.test"),
    ("u-1004", "ليلى حداد", None),
)


def people(site_url: str) -> dict[str, Person]:
    """Return all people by id, with avatars at this site's address."""
    return {key: Person(key, name, email, f"{site_url}/people/{key}.svg") for key, name, email in PEOPLE}


def avatar(person: Person) -> str:
    """Draw a person's initial on a background in the person's colour, as SVG."""
    hue = sum(person.id.encode()) * 47 % 360
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">'
        f'<rect width="64" height="64" fill="hsl({hue} 38% 46%)"/>'
        '<text x="32" y="42" font-family="system-ui,sans-serif" font-size="28" font-weight="600" fill="#fff" '
        f'text-anchor="middle">{escape((person.name or "?")[0])}</text></svg>'
    )
