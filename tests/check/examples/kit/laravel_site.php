<?php
// A bare Laravel application with the usual web middleware, around the routes of the example.

declare(strict_types=1);
ini_set('display_errors', '0');
require 'Illuminate/autoload.php';

use Illuminate\Contracts;
use Illuminate\Cookie\Middleware as Cookies;
use Illuminate\Foundation\Bootstrap;
use Illuminate\Foundation\Exceptions\Handler;
use Illuminate\Foundation\Http\Middleware\VerifyCsrfToken;
use Illuminate\Session\Middleware\StartSession;
use Illuminate\Support\Facades\Route;

const ROUTES = __DIR__ . '/../../../../docs/integrators/examples/laravel_routes.php';

class Kernel extends Illuminate\Foundation\Http\Kernel
{
    protected $bootstrappers = [
        Bootstrap\RegisterFacades::class,
        Bootstrap\RegisterProviders::class,
        Bootstrap\BootProviders::class,
    ];
    protected $middlewareGroups = ['web' => [
        Cookies\EncryptCookies::class,
        Cookies\AddQueuedCookiesToResponse::class,
        StartSession::class,
        VerifyCsrfToken::class,
    ]];
}

$folder = sys_get_temp_dir();
is_dir("$folder/bootstrap/cache") || mkdir("$folder/bootstrap/cache", recursive: true);
$app = new Illuminate\Foundation\Application($folder);
$app->instance('config', new Illuminate\Config\Repository([
    'app' => [
        'env' => 'production', 'debug' => false, 'cipher' => 'AES-256-CBC', 'locale' => 'en',
        'key' => substr(hash('sha256', getenv('SESSION_KEY')), 0, 32),
        'aliases' => [],
        'providers' => [
            Illuminate\Cache\CacheServiceProvider::class,
            Illuminate\Cookie\CookieServiceProvider::class,
            Illuminate\Encryption\EncryptionServiceProvider::class,
            Illuminate\Filesystem\FilesystemServiceProvider::class,
            Illuminate\Foundation\Providers\FoundationServiceProvider::class,
            Illuminate\Session\SessionServiceProvider::class,
            Illuminate\View\ViewServiceProvider::class,
        ],
    ],
    'session' => [
        'driver' => 'file', 'files' => $folder, 'lifetime' => 120, 'lottery' => [0, 100], 'expire_on_close' => false,
        'cookie' => 'laravel_session', 'path' => '/', 'domain' => null, 'secure' => true, 'http_only' => true,
        'same_site' => 'lax',
    ],
    'logging' => ['default' => 'errorlog', 'channels' => ['errorlog' => ['driver' => 'errorlog']]],
    'view' => ['paths' => [], 'compiled' => $folder],
]));
$app->instance('env', 'production');
$app->singleton(Contracts\Http\Kernel::class, Kernel::class);
$app->singleton(Contracts\Debug\ExceptionHandler::class, Handler::class);
$app->booted(fn () => Route::middleware('web')->group(ROUTES));
$kernel = $app->make(Contracts\Http\Kernel::class);
$request = Illuminate\Http\Request::capture();
$response = $kernel->handle($request)->send();
$kernel->terminate($request, $response);
