# The login with curl. The first argument is an option of curl, such as --http2.
set -eu
option=$1 provider=$2 provider_lab=$3 service_lab=$4
statuses='' folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

ask() {
    status=$(curl --silent --show-error "$option" --dump-header "$folder/head" --output "$folder/body" \
        --write-out '%{http_code}' "$@")
    statuses="$statuses${statuses:+, }$status"
}

found() { sed -n "s/.*$1\([^\"&]*\).*/\1/p" "$folder/$2"; }

json='Content-Type: application/json' back=http://localhost/back
client="client_id=stranger&redirect_uri=$back"
asked="$client&response_type=code&scope=openid%20profile"
ask -H "$json" "$provider_lab/clients" --data-binary '{"provider": "oidc", "client_id": "stranger",
    "client_secret": "hush", "redirect_uris": ["'$back'"]}'
ask "$provider/oidc/authorize?$asked"
ask "$provider/oidc/consent?$asked" --data account=rhea --data decision=approve
ask "$provider/oidc/token" --data "$client&client_secret=hush&grant_type=authorization_code&code=$(found 'code=' head)"
ask "$provider/oidc/userinfo" -H "Authorization: Bearer $(found '"access_token": *"' body)"
name=$(found '"name": *"' body)
ask -H "$json" "$service_lab/clock" --data '{"advance": 0}'
echo "{\"statuses\": [$statuses], \"name\": \"$name\"}"
