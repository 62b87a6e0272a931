"""English texts."""

from typing import Final

from chatkey_protocol.names import STANDARD_CALL_TITLE, STANDARD_GREETING, STANDARD_TITLE
from chatkey_widget.texts.words import Texts

ENGLISH: Final = Texts(
    direction="ltr",
    open="Open chat",
    close="Close chat",
    unread="{count} unread",
    conversation="Conversation",
    write="Write a message…",
    message="Message",
    send="Send",
    search="Search",
    search_this="Search this conversation",
    found="{count} found",
    nothing_found="Nothing found.",
    back="Back to the conversation",
    older="Show older messages",
    call=STANDARD_CALL_TITLE,
    hang_up="Hang up",
    mute="Mute",
    unmute="Unmute",
    play_sound="Play the sound",
    microphone="Microphone",
    speaker="Speaker",
    level="Level of your microphone",
    asking_microphone="Waiting for your microphone…",
    connecting_sound="Connecting the sound…",
    dismiss="Dismiss",
    title=STANDARD_TITLE,
    greeting=STANDARD_GREETING,
    visitor="You are chatting as a visitor",
    member="Signed in as {name}",
    signing_in="Signing in…",
    sign_in="Sign in",
    sign_out="Sign out",
    sign_in_intro="Sign in to keep your conversations on all your devices. You can also chat without signing in.",
    continue_with="Continue with {social}",
    waiting_for="Waiting for the sign-in window…",
    open_sign_in="Open the sign-in window",
    open_outside="Open in your browser",
    you="You",
    agent="Support",
    links={
        "connecting": "Connecting…",
        "online": "Online",
        "offline": "Reconnecting…",
        "stopped": "Not available",
    },
    calls={
        "none": "",
        "calling": "Calling…",
        "ringing": "Ringing…",
        "active": "In a call",
        "ended": "The call has ended",
    },
    states={"sending": "Sending…", "sent": "", "refused": "Not delivered"},
    reasons={"too_long": "it is too long", "unreadable": "it contains characters that cannot be sent"},
    notices={
        "needs_https": "The chat needs a secure (https) page.",
        "old_browser": "The chat is not available in this browser.",
        "unreachable": "We cannot reach the chat right now. Trying again…",
        "connection_lost": "The connection was lost. Reconnecting…",
        "local_network": (
            "The chat is in your local network, and your browser may keep this page from it. "
            "Allow access in the site settings."
        ),
        "not_available": "The chat is not available.",
        "not_available_here": "The chat is not available here.",
        "switched_off": "The chat is switched off at the moment.",
        "message_refused": "Your message was not accepted.",
        "message_dropped": "A message may not have arrived. It is in the message box again, so that you can send it.",
        "message_lost": "A message from before the sign-in may not have arrived.",
        "too_fast": "You are sending too fast. Please wait a moment.",
        "too_many_windows": "The chat is open in too many windows. Please close one.",
        "microphone_denied": "The call needs your microphone. Allow it in your browser and call again.",
        "microphone_missing": "No microphone was found, or another program is using it.",
        "microphone_lost": "Your microphone was disconnected, so the call has ended.",
        "microphone_unavailable": "Calls are not possible on this page or in this browser.",
        "call_unconnected": "The sound could not be connected. Please try again, or write to us.",
        "call_local_network": (
            "The sound did not connect. Your browser keeps this page from your local network, which may be the cause. "
            "Allow access in the site settings and call again."
        ),
        "call_unsafe": "The call has ended, because the connection is not safe here.",
        "call_unanswered": "Nobody could answer your call. Please try again later, or write to us.",
        "call_ended": "The call was interrupted.",
        "popup_blocked": (
            "Your browser blocked the sign-in window. Allow pop-ups for this page and press the button again."
        ),
        "popup_closed": "The sign-in window was closed.",
        "popup_lost": "This page has lost contact with the sign-in window, so the sign-in cannot be completed here.",
        "open_in_browser": "This app cannot open the sign-in window. To sign in, open this page in your browser.",
        "sign_in_again": "The sign-in failed. Please try again.",
        "sign_in_cancelled": "The sign-in was cancelled.",
        "sign_in_gone": "This way of signing in is no longer available.",
    },
)
