// A getToken endpoint in Spring Boot. README.md says how to run it.

package shop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpSession;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.Collections;
import java.util.Map;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.CacheControl;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@SpringBootApplication
@RestController
public class Backend {
    record Person(String id, String name) {}

    static final Map<String, Person> PEOPLE = // stands for your customers
        Map.of("ada", new Person("1001", "Ada Lindqvist"), "bo", new Person("1002", "Bo Sørensen"));
    static final Pattern JKT = Pattern.compile("[A-Za-z0-9_-]{43}");
    static final int LARGEST = 10_000;
    final ObjectMapper json = new ObjectMapper();

    public static void main(String[] arguments) {
        SpringApplication site = new SpringApplication(Backend.class);
        String cookie = "server.servlet.session.cookie."; // Lax keeps other sites from using the cookie
        site.setDefaultProperties(Map.of(cookie + "same-site", "lax", cookie + "secure", "true", cookie + "http-only", "true"));
        site.run(arguments);
    }

    // PostMapping, not RequestMapping: GET responses are cached. Without consumes, another site's form could send text/plain.
    // Spring Security refuses the call without a CSRF token: exempt it with csrf.ignoringRequestMatchers("/chat/token").
    @PostMapping(path = "/chat/token", consumes = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<?> chatToken(HttpServletRequest request) throws Exception {
        String jkt = jktOf(request.getInputStream().readNBytes(LARGEST + 1));
        if (!JKT.matcher(jkt).matches()) { // matches, not find: the whole text has to match
            return ResponseEntity.badRequest().body(Map.of("error", "jkt must be the text that the widget passes to getToken"));
        }
        HttpSession session = request.getSession(false); // false: visitors get no session
        Object user = session == null ? null : session.getAttribute("user"); // from your session, never from the body
        Person person = user == null ? null : PEOPLE.get(user);
        String token = person == null ? null : token(person, jkt); // a visitor gets null: not 401, not a redirect
        return ResponseEntity.ok().cacheControl(CacheControl.noStore()).body(Collections.singletonMap("token", token));
    }

    String jktOf(byte[] body) {
        if (body.length > LARGEST) return "";
        try {
            JsonNode jkt = json.readTree(body).path("jkt");
            return jkt.isTextual() ? jkt.textValue() : "";
        } catch (IOException notJson) {
            return "";
        }
    }

    String token(Person person, String jkt) throws Exception {
        long now = Instant.now().getEpochSecond(); // whole seconds; not System.currentTimeMillis()
        Map<String, Object> claims = Map.of(
            "pid", System.getenv("CHAT_PROVIDER_ID"), "uid", person.id(), "type", "user", "name", person.name(),
            "cnf", Map.of("jkt", jkt), "iat", now, "exp", now + 3600); // jkt inside cnf; exp is a time, not a lifetime
        String signed = part(Map.of("alg", "HS256", "typ", "JWT")) + "." + part(claims);
        Mac mac = Mac.getInstance("HmacSHA256"); // the secret is the text as you got it: do not decode it
        mac.init(new SecretKeySpec(System.getenv("CHAT_SECRET_KEY").getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
        return signed + "." + encoded(mac.doFinal(signed.getBytes(StandardCharsets.UTF_8)));
    }

    String part(Map<String, Object> value) throws IOException {
        return encoded(json.writeValueAsBytes(value));
    }

    static String encoded(byte[] octets) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(octets);
    }

    @PostMapping("/login") // stands for your own login
    ResponseEntity<?> login(@RequestParam String user, @RequestParam String password, HttpServletRequest request) {
        byte[] wanted = System.getenv("LOGIN_PASSWORD").getBytes(StandardCharsets.UTF_8);
        boolean right = MessageDigest.isEqual(password.getBytes(StandardCharsets.UTF_8), wanted);
        if (!right || !PEOPLE.containsKey(user)) return ResponseEntity.status(403).build();
        request.getSession();
        request.changeSessionId();
        request.getSession().setAttribute("user", user);
        return ResponseEntity.status(303).location(URI.create("/")).build();
    }

    @PostMapping("/logout")
    ResponseEntity<?> logout(HttpServletRequest request) {
        HttpSession session = request.getSession(false);
        if (session != null) session.invalidate(); // on the server: otherwise a copied cookie would still work
        return ResponseEntity.status(303).location(URI.create("/")).build();
    }
}
