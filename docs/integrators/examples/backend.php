<?php
// A getToken endpoint in PHP, without any library. README.md says how to run it.

declare(strict_types=1);
ini_set('display_errors', '0'); // a warning before the JSON makes it unreadable, and shows how the site is built
const PEOPLE = ['ada' => [1001, 'Ada Lindqvist'], 'bo' => [1002, 'Bo Sørensen']]; // stands for your customers

session_start(['cookie_httponly' => true, 'cookie_secure' => true, 'cookie_samesite' => 'Lax', 'use_strict_mode' => true]);

function base64url(string $octets): string // not base64_encode alone: tokens have no +, no / and no =
{
    return rtrim(strtr(base64_encode($octets), '+/', '-_'), '=');
}

function token(int $uid, string $name, string $jkt): string
{
    $now = time(); // whole seconds, UTC; not microtime(true)
    $claims = [
        'pid' => getenv('CHAT_PROVIDER_ID'),
        'uid' => (string) $uid, // text, not the number; an id that never changes, not the e-mail address
        'type' => 'user',
        'cnf' => ['jkt' => $jkt], // inside cnf, unchanged; so a token is made for each call and never kept
        'iat' => $now,
        'exp' => $now + 3600, // a time, not a lifetime
        'name' => $name, // for show; the payload is readable by everyone, so nothing secret here
    ];
    $parts = [['alg' => 'HS256', 'typ' => 'JWT'], $claims];
    $signed = implode('.', array_map(fn (array $part) => base64url(json_encode($part, JSON_THROW_ON_ERROR)), $parts));
    // true: the octets, not their hex. The secret is the text as you got it: mind quotes, and a newline behind it.
    return $signed . '.' . base64url(hash_hmac('sha256', $signed, getenv('CHAT_SECRET_KEY'), true));
}

function answer(int $status, array $body): never
{
    http_response_code($status);
    header('Content-Type: application/json'); // else PHP says text/html
    header('Cache-Control: no-store');
    exit(json_encode($body, JSON_THROW_ON_ERROR));
}

$route = $_SERVER['REQUEST_METHOD'] . ' ' . parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($route === 'POST /chat/token') {
    // $_POST is empty for JSON, and $_REQUEST holds the address and the cookies, too.
    $is_json = str_starts_with($_SERVER['CONTENT_TYPE'] ?? '', 'application/json'); // not the text/plain of a form
    $jkt = json_decode($is_json ? file_get_contents('php://input', length: 10_000) : '', true)['jkt'] ?? null;
    if (!is_string($jkt) || !preg_match('/^[A-Za-z0-9_-]{43}$/D', $jkt)) { // without D, a newline behind it passes
        answer(400, ['error' => 'jkt must be the text that the widget passes to getToken']);
    }
    $person = PEOPLE[$_SESSION['user'] ?? ''] ?? null; // from your session, never from the body
    answer(200, ['token' => $person ? token($person[0], $person[1], $jkt) : null]); // a visitor gets null: not 401
} elseif ($route === 'POST /login' && isset(PEOPLE[$_POST['user'] ?? ''])) { // stands for your own login
    hash_equals(getenv('LOGIN_PASSWORD'), $_POST['password'] ?? '') || answer(403, ['error' => 'wrong password']);
    session_regenerate_id(true);
    $_SESSION['user'] = $_POST['user'];
} elseif ($route === 'POST /logout') {
    session_destroy(); // on the server: deleting the cookie would leave the session to whoever copied it
} else {
    answer(404, ['error' => 'not found']);
}
header('Location: /', true, 303);
