<?php
// A getToken endpoint in Laravel, as the routes of a site. README.md says how to run it.

use Illuminate\Foundation\Http\Middleware\VerifyCsrfToken;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;

const PEOPLE = ['ada' => [1001, 'Ada Lindqvist'], 'bo' => [1002, 'Bo Sørensen']]; // stands for your customers

function base64url(string $octets): string // not base64_encode alone: tokens have no +, no / and no =
{
    return rtrim(strtr(base64_encode($octets), '+/', '-_'), '=');
}

function tokenFor(int $uid, string $name, string $jkt): string
{
    $now = time(); // whole seconds, UTC; not now()->getTimestampMs()
    $claims = [
        'pid' => getenv('CHAT_PROVIDER_ID'), // in your site: config('services.chat.provider_id')
        'uid' => (string) $uid, // text, not the number; an id that never changes, not the e-mail address
        'type' => 'user',
        'cnf' => ['jkt' => $jkt], // inside cnf, unchanged; therefore no Cache::remember around it
        'iat' => $now,
        'exp' => $now + 3600, // a time, not a lifetime
        'name' => $name, // only displayed
    ];
    $signed = base64url('{"alg":"HS256","typ":"JWT"}') . '.' . base64url(json_encode($claims, JSON_THROW_ON_ERROR));
    // CHAT_SECRET_KEY, not APP_KEY; the text as you got it, not base64.
    return $signed . '.' . base64url(hash_hmac('sha256', $signed, getenv('CHAT_SECRET_KEY'), true));
}

// Among the web routes, which have the session, and without the middleware auth, which redirects. Without the CSRF
// middleware, because other sites cannot send JSON; or keep it and let getToken send X-XSRF-TOKEN.
Route::post('/chat/token', function (Request $request) {
    $isJson = $request->isJson() && strlen($request->getContent()) <= 10_000;
    $jkt = $isJson ? $request->json('jkt') : null; // not $request->input, which holds the address, too
    if (!is_string($jkt) || !preg_match('/^[A-Za-z0-9_-]{43}$/D', $jkt)) { // without D, a newline behind it passes
        return response()->json(['error' => 'jkt must be the text that the widget passes to getToken'], 400);
    }
    $person = PEOPLE[$request->session()->get('user')] ?? null; // from your session, never from the body
    $token = $person ? tokenFor($person[0], $person[1], $jkt) : null; // a visitor gets null: not 401
    return response()->json(['token' => $token])->header('Cache-Control', 'no-store');
})->withoutMiddleware(VerifyCsrfToken::class);

Route::post('/login', function (Request $request) { // stands for your own login
    [$user, $password] = [(string) $request->input('user'), (string) $request->input('password')];
    abort_unless(isset(PEOPLE[$user]) && hash_equals(getenv('LOGIN_PASSWORD'), $password), 403);
    $request->session()->regenerate();
    $request->session()->put('user', $user);
    return redirect('/', 303);
})->withoutMiddleware(VerifyCsrfToken::class);

Route::post('/logout', function (Request $request) {
    $request->session()->invalidate(); // on the server; SESSION_DRIVER must not be cookie
    return redirect('/', 303);
})->withoutMiddleware(VerifyCsrfToken::class);
