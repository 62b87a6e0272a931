// The login with net/http.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

const form, jsonType = "application/x-www-form-urlencoded", "application/json"

var statuses []int
var client = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func ask(method, address, body, name, value string) (*http.Response, map[string]any) {
	request, err := http.NewRequest(method, address, strings.NewReader(body))
	check(err)
	request.Header.Set(name, value)
	response, err := client.Do(request)
	check(err)
	defer response.Body.Close()
	statuses = append(statuses, response.StatusCode)
	text, err := io.ReadAll(response.Body)
	check(err)
	var content map[string]any
	_ = json.Unmarshal(text, &content) // a page is not JSON
	return response, content
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	provider, providerLab, serviceLab := os.Args[1], os.Args[2], os.Args[3]
	values := url.Values{"client_id": {"stranger"}, "redirect_uri": {"http://localhost/back"}}
	application := `{"provider": "oidc", "client_id": "stranger", "client_secret": "hush", "redirect_uris": [%q]}`
	body := fmt.Sprintf(application, values.Get("redirect_uri"))
	asked := values.Encode() + "&response_type=code&scope=openid+profile"

	ask("POST", providerLab+"/clients", body, "Content-Type", jsonType)
	ask("GET", provider+"/oidc/authorize?"+asked, "", "Accept", "text/html")
	approved, _ := ask("POST", provider+"/oidc/consent?"+asked, "account=rhea&decision=approve", "Content-Type", form)
	back, err := approved.Location()
	check(err)
	exchange := values.Encode() + "&client_secret=hush&grant_type=authorization_code&code=" + back.Query().Get("code")
	_, token := ask("POST", provider+"/oidc/token", exchange, "Content-Type", form)
	_, person := ask("GET", provider+"/oidc/userinfo", "", "Authorization", fmt.Sprint("Bearer ", token["access_token"]))
	ask("POST", serviceLab+"/clock", `{"advance": 0}`, "Content-Type", jsonType)
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{"statuses": statuses, "name": person["name"]}))
}
