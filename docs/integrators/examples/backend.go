// A getToken endpoint in Go, with the standard library alone. README.md says how to run it.

package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

type person struct{ id, name string }

var (
	// These stand for your customers and your session store. Handlers run at once, so the store needs a lock.
	people   = map[string]person{"ada": {"1001", "Ada Lindqvist"}, "bo": {"1002", "Bo Sørensen"}}
	sessions sync.Map
	form     = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
	text     = base64.RawURLEncoding // not URLEncoding: tokens have no =
)

func chatToken(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // GET responses are cached
		answer(w, http.StatusMethodNotAllowed, map[string]any{"error": "POST only"})
		return
	}
	var body map[string]any                                                       // not a struct: its decoder also takes "JKT" for "jkt"
	isJSON := strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") // another site's form can send text/plain
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 10_000)).Decode(&body)
	jkt, _ := body["jkt"].(string)
	if err != nil || !isJSON || !form.MatchString(jkt) {
		answer(w, http.StatusBadRequest, map[string]any{"error": "jkt must be the text that the widget passes to getToken"})
		return
	}
	user, _ := sessions.Load(session(r)) // from your session, never from the body
	who, known := user.(person)
	if !known {
		answer(w, http.StatusOK, map[string]any{"token": nil}) // a visitor: not 401, not a redirect
		return
	}
	answer(w, http.StatusOK, map[string]any{"token": token(who, jkt)})
}

func token(who person, jkt string) string {
	now := time.Now().Unix() // whole seconds, UTC; not UnixMilli
	claims := map[string]any{
		"pid": os.Getenv("CHAT_PROVIDER_ID"), "type": "user",
		"uid": who.id,                        // a string that never changes, not the e-mail address
		"cnf": map[string]string{"jkt": jkt}, // inside cnf, unchanged; so a token is made for each call
		"iat": now, "exp": now + 3600,        // a time, not a lifetime
		"name": who.name,
	}
	signed := part(map[string]string{"alg": "HS256", "typ": "JWT"}) + "." + part(claims)
	mac := hmac.New(sha256.New, []byte(os.Getenv("CHAT_SECRET_KEY"))) // the text as you got it, without a newline
	mac.Write([]byte(signed))
	return signed + "." + text.EncodeToString(mac.Sum(nil))
}

func part(value any) string {
	made, _ := json.Marshal(value) // maps of text and numbers can always be encoded
	return text.EncodeToString(made)
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json") // otherwise Go guesses text/plain
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func session(r *http.Request) string {
	cookie, err := r.Cookie("sid")
	if err != nil {
		return ""
	}
	return cookie.Value
}

func login(w http.ResponseWriter, r *http.Request) { // stands for your own login
	who, known := people[r.PostFormValue("user")]
	if !known || !hmac.Equal([]byte(r.PostFormValue("password")), []byte(os.Getenv("LOGIN_PASSWORD"))) {
		http.Error(w, "wrong password", http.StatusForbidden)
		return
	}
	random := make([]byte, 32)
	rand.Read(random)
	sid := text.EncodeToString(random)
	sessions.Store(sid, who)
	lax := http.SameSiteLaxMode // keeps other sites from using the cookie
	http.SetCookie(w, &http.Cookie{Name: "sid", Value: sid, Path: "/", HttpOnly: true, Secure: true, SameSite: lax})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func main() {
	http.HandleFunc("/chat/token", chatToken)
	http.HandleFunc("/login", login)
	http.HandleFunc("/logout", func(w http.ResponseWriter, r *http.Request) {
		sessions.Delete(session(r)) // on the server: otherwise a copied cookie would still work
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
