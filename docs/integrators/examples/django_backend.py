"""A getToken endpoint in Django, in one file. It needs django and pyjwt; README.md says how to run it."""

import json
import os
import re
import time

import jwt
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

settings.configure(
    SECRET_KEY=os.environ["SESSION_KEY"],  # for Django only; CHAT_SECRET_KEY signs the tokens
    ALLOWED_HOSTS=[".localhost", "127.0.0.1"],  # DEBUG stays off: its error page reveals the site's code
    ROOT_URLCONF=__name__,
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware"],
    SESSION_ENGINE="django.contrib.sessions.backends.cache",  # with signed_cookies, a copied cookie outlives the logout
    SESSION_COOKIE_SECURE=True,  # SESSION_COOKIE_SAMESITE is Lax already
    DATA_UPLOAD_MAX_MEMORY_SIZE=10_000,
)
PEOPLE = {"ada": (1001, "Ada Lindqvist"), "bo": (1002, "Bo Sørensen")}  # stands for your customers


@csrf_exempt  # safe, as forms of other sites cannot send JSON; or let getToken send X-CSRFToken
@never_cache  # it sends no-store, too
@require_POST  # not login_required: it redirects
def chat_token(request: HttpRequest) -> HttpResponse:
    try:
        body = json.loads(request.body) if request.content_type == "application/json" else None
    except (ValueError, RecursionError):
        body = None
    jkt = body.get("jkt") if isinstance(body, dict) else None
    if not isinstance(jkt, str) or not re.fullmatch(r"[A-Za-z0-9_-]{43}", jkt):  # $ would allow a final newline
        return JsonResponse({"error": "jkt must be the text that the widget passes to getToken"}, status=400)
    person = PEOPLE.get(request.session.get("user"))  # from your session, never from the body
    if person is None:
        return JsonResponse({"token": None})  # a visitor: not 401, not a token for AnonymousUser
    now = int(time.time())  # whole seconds, UTC; not a naive datetime's timestamp()
    claims = {"pid": os.environ["CHAT_PROVIDER_ID"], "uid": str(person[0]), "type": "user", "name": person[1]}
    claims |= {"cnf": {"jkt": jkt}, "iat": now, "exp": now + 3600}  # jkt inside cnf; exp is a time, not a lifetime
    return JsonResponse({"token": jwt.encode(claims, os.environ["CHAT_SECRET_KEY"], algorithm="HS256")})


@csrf_exempt
def session(request: HttpRequest) -> HttpResponse:  # stands for your own login and logout
    request.session.flush()  # end it on the server: otherwise a copied cookie would still work
    if request.path == "/login" and constant_time_compare(request.POST["password"], os.environ["LOGIN_PASSWORD"]):
        request.session["user"] = request.POST["user"]
    return HttpResponse(status=303, headers={"Location": "/"})


urlpatterns = [path("chat/token", chat_token), path("login", session), path("logout", session)]
if __name__ == "__main__":
    execute_from_command_line()
