import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** The login with java.net.http. */
class Login {
    static final HttpClient CLIENT = HttpClient.newHttpClient();
    static final String JSON = "application/json", FORM = "application/x-www-form-urlencoded";
    static final List<Integer> STATUSES = new ArrayList<>();

    static HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        HttpResponse<String> response = CLIENT.send(request.build(), BodyHandlers.ofString());
        STATUSES.add(response.statusCode());
        return response;
    }

    static HttpResponse<String> post(String address, String type, String body) throws Exception {
        return send(get(address).header("Content-Type", type).POST(BodyPublishers.ofString(body)));
    }

    static HttpRequest.Builder get(String address) {
        return HttpRequest.newBuilder(URI.create(address));
    }

    static String found(String pattern, String text) {
        return Pattern.compile(pattern).matcher(text).results().findFirst().orElseThrow().group(1);
    }

    public static void main(String[] arguments) throws Exception {
        String provider = arguments[0], providerLab = arguments[1], serviceLab = arguments[2];
        String back = "http://localhost/back", client = "client_id=stranger&redirect_uri=" + back;
        String asked = client + "&response_type=code&scope=openid+profile";
        String application = """
            {"provider": "oidc", "client_id": "stranger", "client_secret": "hush", "redirect_uris": ["%s"]}""";

        post(providerLab + "/clients", JSON, application.formatted(back));
        send(get(provider + "/oidc/authorize?" + asked));
        var approved = post(provider + "/oidc/consent?" + asked, FORM, "account=rhea&decision=approve");
        String code = found("[?&]code=([^&]+)", approved.headers().firstValue("location").orElseThrow());
        String exchange = client + "&client_secret=hush&grant_type=authorization_code&code=" + code;
        String token = found("\"access_token\" *: *\"([^\"]+)\"", post(provider + "/oidc/token", FORM, exchange).body());
        String person = send(get(provider + "/oidc/userinfo").header("Authorization", "Bearer " + token)).body();
        post(serviceLab + "/clock", JSON, "{\"advance\": 0}");
        System.out.printf("{\"statuses\": %s, \"name\": \"%s\"}", STATUSES, found("\"name\" *: *\"([^\"]+)\"", person));
    }
}
