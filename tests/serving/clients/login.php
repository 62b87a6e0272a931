<?php
// The login with PHP's streams, or with its extension curl if the first argument is "curl".
[, $transport, $provider, $providerLab, $serviceLab] = $argv;
if ($transport === 'curl' && !extension_loaded('curl')) {
    echo 'PHP has no extension curl on this machine: `apt-get install php-curl` brings it';
    exit(77);
}
$statuses = [];

function with_streams(string $method, string $url, array $headers, string $body): array
{
    $options = ['method' => $method, 'header' => $headers, 'content' => $body, 'follow_location' => 0];
    $body = file_get_contents($url, false, stream_context_create(['http' => $options + ['ignore_errors' => true]]));
    return [(int) explode(' ', $http_response_header[0])[1], implode("\n", $http_response_header), $body];
}

function with_curl(string $method, string $url, array $headers, string $body): array
{
    static $curl;
    $curl ??= curl_init();
    $options = [CURLOPT_URL => $url, CURLOPT_HTTPHEADER => $headers, CURLOPT_CUSTOMREQUEST => $method];
    curl_setopt_array($curl, $options + [CURLOPT_HEADER => true, CURLOPT_RETURNTRANSFER => true]);
    curl_setopt($curl, CURLOPT_POSTFIELDS, $body);
    [$head, $body] = explode("\r\n\r\n", curl_exec($curl), 2);
    return [curl_getinfo($curl, CURLINFO_RESPONSE_CODE), $head, $body];
}

function ask(string $method, string $url, string $body = '', string ...$headers): array
{
    global $transport, $statuses;
    [$statuses[], $head, $text] = "with_$transport"($method, $url, $headers, $body);
    return [$head, $text];
}

$json = 'Content-Type: application/json';
$form = 'Content-Type: application/x-www-form-urlencoded';
$client = ['client_id' => 'stranger', 'redirect_uri' => 'http://localhost/back'];
$application = ['provider' => 'oidc', 'client_id' => 'stranger', 'client_secret' => 'hush'];
$asked = http_build_query($client + ['response_type' => 'code', 'scope' => 'openid profile']);

ask('POST', "$providerLab/clients", json_encode($application + ['redirect_uris' => [$client['redirect_uri']]]), $json);
ask('GET', "$provider/oidc/authorize?$asked");
[$head] = ask('POST', "$provider/oidc/consent?$asked", 'account=rhea&decision=approve', $form);
preg_match('/[?&]code=([^&\s]+)/', $head, $found);
$exchange = $client + ['client_secret' => 'hush', 'grant_type' => 'authorization_code', 'code' => $found[1]];
[, $token] = ask('POST', "$provider/oidc/token", http_build_query($exchange), $form);
[, $person] = ask('GET', "$provider/oidc/userinfo", '', 'Authorization: Bearer ' . json_decode($token)->access_token);
ask('POST', "$serviceLab/clock", '{"advance": 0}', $json);
echo json_encode(['statuses' => $statuses, 'name' => json_decode($person)->name]);
