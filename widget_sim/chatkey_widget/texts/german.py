"""German texts."""

from typing import Final

from chatkey_widget.texts.words import Texts

GERMAN: Final = Texts(
    direction="ltr",
    open="Chat öffnen",
    close="Chat schließen",
    unread="{count} ungelesen",
    conversation="Unterhaltung",
    write="Nachricht schreiben …",
    message="Nachricht",
    send="Senden",
    search="Suchen",
    search_this="Diese Unterhaltung durchsuchen",
    found="{count} gefunden",
    nothing_found="Nichts gefunden.",
    back="Zurück zur Unterhaltung",
    older="Ältere Nachrichten zeigen",
    call="Anrufen",
    hang_up="Auflegen",
    mute="Stummschalten",
    unmute="Stummschaltung aufheben",
    play_sound="Ton abspielen",
    microphone="Mikrofon",
    speaker="Lautsprecher",
    level="Pegel Ihres Mikrofons",
    asking_microphone="Warten auf Ihr Mikrofon …",
    connecting_sound="Ton wird verbunden …",
    sound_interrupted="Der Ton ist unterbrochen …",
    muted="Ihr Mikrofon ist aus",
    unmuted="Ihr Mikrofon ist an",
    dismiss="Ausblenden",
    title="Schreiben Sie uns",
    greeting="Hallo! Wie können wir helfen?",
    visitor="Sie chatten als Gast",
    member="Angemeldet als {name}",
    signing_in="Anmeldung läuft …",
    sign_in="Anmelden",
    sign_out="Abmelden",
    sign_in_intro=(
        "Melden Sie sich an, um Ihre Unterhaltungen auf allen Geräten zu haben. Sie können auch ohne Anmeldung chatten."
    ),
    continue_with="Weiter mit {social}",
    waiting_for="Warten auf das Anmeldefenster …",
    open_sign_in="Anmeldefenster öffnen",
    open_outside="Im Browser öffnen",
    you="Sie",
    agent="Kundendienst",
    links={
        "connecting": "Verbindung wird aufgebaut …",
        "online": "Verbunden",
        "offline": "Verbindung wird wiederhergestellt …",
        "stopped": "Nicht verfügbar",
    },
    calls={
        "none": "",
        "calling": "Anruf wird gestartet …",
        "ringing": "Es klingelt …",
        "active": "Im Gespräch",
        "elsewhere": "Sie sind in einem anderen Tab im Gespräch",
        "ended": "Das Gespräch ist beendet",
    },
    states={"sending": "Wird gesendet …", "sent": "", "refused": "Nicht zugestellt"},
    reasons={"too_long": "sie ist zu lang", "unreadable": "sie enthält Zeichen, die sich nicht senden lassen"},
    notices={
        "needs_https": "Der Chat braucht eine sichere Seite (https).",
        "old_browser": "Der Chat ist in diesem Browser nicht verfügbar.",
        "unreachable": "Der Chat ist gerade nicht erreichbar. Wir versuchen es weiter …",
        "connection_lost": "Die Verbindung ist abgebrochen und wird wiederhergestellt …",
        "local_network": (
            "Der Chat ist in Ihrem lokalen Netzwerk, und Ihr Browser lässt diese Seite vielleicht nicht dorthin. "
            "Erlauben Sie den Zugriff in den Website-Einstellungen."
        ),
        "not_available": "Der Chat ist nicht verfügbar.",
        "not_available_here": "Der Chat ist hier nicht verfügbar.",
        "switched_off": "Der Chat ist zurzeit ausgeschaltet.",
        "message_refused": "Ihre Nachricht wurde nicht angenommen.",
        "message_dropped": (
            "Eine Nachricht ist vielleicht nicht angekommen. "
            "Sie steht wieder im Eingabefeld und lässt sich von dort noch einmal senden."
        ),
        "message_lost": "Eine Nachricht von vor der Anmeldung ist vielleicht nicht angekommen.",
        "too_fast": "Sie senden zu schnell. Bitte warten Sie kurz.",
        "too_many_windows": "Der Chat ist in zu vielen Fenstern geöffnet. Bitte schließen Sie eines.",
        "microphone_denied": (
            "Für den Anruf wird Ihr Mikrofon gebraucht. Erlauben Sie es im Browser und rufen Sie noch einmal an."
        ),
        "microphone_dismissed": (
            "Für den Anruf wird Ihr Mikrofon gebraucht. "
            "Rufen Sie noch einmal an und erlauben Sie es, wenn der Browser fragt."
        ),
        "microphone_missing": "Es wurde kein Mikrofon gefunden. Schließen Sie eines an und rufen Sie noch einmal an.",
        "microphone_busy": "Ein anderes Programm benutzt Ihr Mikrofon. Schließen Sie es und rufen Sie noch einmal an.",
        "other_microphone": "Das Gespräch ist beendet, denn die Gegenseite hat kein Mikrofon.",
        "microphone_lost": "Ihr Mikrofon wurde getrennt. Das Gespräch ist beendet.",
        "microphone_unavailable": "Auf dieser Seite oder in diesem Browser sind Anrufe nicht möglich.",
        "call_unconnected": "Der Ton ließ sich nicht verbinden. Versuchen Sie es noch einmal oder schreiben Sie uns.",
        "call_local_network": (
            "Der Ton ließ sich nicht verbinden. Ihr Browser lässt diese Seite nicht in Ihr lokales Netzwerk, das kann "
            "der Grund sein. Erlauben Sie den Zugriff in den Website-Einstellungen und rufen Sie noch einmal an."
        ),
        "call_unsafe": "Das Gespräch ist beendet, denn die Verbindung ist hier nicht sicher.",
        "call_unanswered": (
            "Ihr Anruf konnte nicht angenommen werden. Versuchen Sie es später noch einmal oder schreiben Sie uns."
        ),
        "call_ended": "Das Gespräch wurde unterbrochen.",
        "popup_blocked": (
            "Ihr Browser hat das Anmeldefenster blockiert. "
            "Erlauben Sie dieser Seite Pop-ups und drücken Sie den Knopf noch einmal."
        ),
        "popup_closed": "Das Anmeldefenster wurde geschlossen.",
        "popup_lost": (
            "Diese Seite hat den Kontakt zum Anmeldefenster verloren. Die Anmeldung lässt sich hier nicht abschließen."
        ),
        "open_in_browser": (
            "Diese App kann kein Anmeldefenster öffnen. Zum Anmelden öffnen Sie diese Seite bitte in Ihrem Browser."
        ),
        "sign_in_again": "Die Anmeldung hat nicht geklappt. Bitte versuchen Sie es noch einmal.",
        "sign_in_cancelled": "Die Anmeldung wurde abgebrochen.",
        "sign_in_gone": "Diese Art der Anmeldung gibt es nicht mehr.",
    },
)
