# A getToken endpoint in Rails, in one file. It needs rails, jwt and puma; README.md says how to run it.

require "action_controller/railtie"
require "jwt"

PEOPLE = { "ada" => [1001, "Ada Lindqvist"], "bo" => [1002, "Bo Sørensen"] } # stands for your customers

class Site < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.secret_key_base = ENV.fetch("SESSION_KEY") # for Rails only; CHAT_SECRET_KEY signs the tokens
  config.eager_load = true
  config.consider_all_requests_local = false # otherwise error pages show the site's code
  config.logger = Logger.new($stdout)
  config.cache_store = :memory_store
  config.session_store :cache_store, key: "sid" # not the cookie store: a copied cookie would outlive the logout
  # Your site also sets config.force_ssl, which makes the cookie Secure. SameSite is Lax already.
  routes.append do
    post "/chat/token", to: "chat#token" # post, not match: GET responses are cached
    post "/login", to: "sessions#create"
    post "/logout", to: "sessions#destroy"
  end
end
Site.initialize!

class ChatController < ActionController::Base
  skip_forgery_protection # safe, as forms of other sites cannot send JSON; or let getToken send X-CSRF-Token
  rescue_from(ActionDispatch::Http::Parameters::ParseError) { head :bad_request }

  def token # without before_action :authenticate_user!, which redirects
    response.headers["Cache-Control"] = "no-store"
    is_json = request.media_type == "application/json" && request.content_length.to_i <= 10_000
    jkt = request.request_parameters["jkt"] if is_json # not params, which holds the address, too
    # \A and \z: ^ and $ also match beside a newline.
    unless jkt.is_a?(String) && jkt.match?(/\A[A-Za-z0-9_-]{43}\z/)
      return render json: { error: "jkt must be the text that the widget passes to getToken" }, status: :bad_request
    end
    person = PEOPLE[session[:user]] # from your session, never from the body; in a local variable
    render json: { token: person && token_for(*person, jkt) } # a visitor gets null: not 401
  end

  private

  def token_for(uid, name, jkt)
    now = Time.now.to_i # whole seconds, UTC
    claims = { pid: ENV.fetch("CHAT_PROVIDER_ID"), type: "user", name: name, cnf: { jkt: jkt } } # jkt inside cnf
    claims.update(uid: uid.to_s, iat: now, exp: now + 3600) # uid as text; exp is a time, not a lifetime
    JWT.encode(claims, ENV.fetch("CHAT_SECRET_KEY"), "HS256") # the secret as you got it, without a newline
  end
end

class SessionsController < ActionController::Base # stands for your own login
  skip_forgery_protection

  def create
    right = ActiveSupport::SecurityUtils.secure_compare(params[:password].to_s, ENV.fetch("LOGIN_PASSWORD"))
    return head(:forbidden) unless right && PEOPLE.key?(params[:user])
    reset_session
    session[:user] = params[:user]
    redirect_to "/", status: :see_other
  end

  def destroy
    reset_session # on the server: otherwise a copied cookie would still work
    redirect_to "/", status: :see_other
  end
end

run Site
