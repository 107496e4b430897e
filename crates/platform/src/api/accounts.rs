//! Accounts and sessions.

use std::net::{IpAddr, Ipv4Addr};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Api, user};
use crate::accounts::{Account, LoggedIn, Role, UserId};
use crate::bridge::{self, SESSION_SECONDS};
use crate::http::{Client, Json, MaybeWho, Operation, Operator, Path, Problem, Via, Who, csrf};

/// A name and a password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Credentials {
    /// 3 to 32 letters, digits and `.`, `-`, `_`, with none of these at its ends.
    #[schema(
        pattern = r"^[\t-\r ]*[A-Za-z0-9][A-Za-z0-9._-]{1,30}[A-Za-z0-9][\t-\r ]*$",
        example = "ann"
    )]
    name: String,
    /// 10 to 256 characters.
    #[schema(format = Password, min_length = 10, max_length = 256)]
    password: String,
}

/// Two passwords.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPassword {
    /// The one that holds.
    #[schema(format = Password)]
    old: String,
    /// The one that shall hold, 10 to 256 characters.
    #[schema(format = Password, min_length = 10, max_length = 256)]
    new: String,
}

/// An account.
#[derive(Debug, Serialize, ToSchema)]
struct ShownAccount {
    /// Its name.
    name: String,
    /// What it may.
    role: Role,
    /// When it was made, Unix milliseconds.
    created: u64,
}

/// A session. Its secret is in the cookie alone.
#[derive(Debug, Serialize, ToSchema)]
struct ShownSession {
    /// Who is logged in.
    name: String,
    /// What they may.
    role: Role,
    /// What writes with this session carry in `X-CSRF-Token`.
    csrf: String,
}

/// A role.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewRole {
    /// What the account shall be allowed.
    role: Role,
}

impl From<Account> for ShownAccount {
    fn from(account: Account) -> Self {
        let Account { user, role, created } = account;
        Self { name: user.to_string(), role, created }
    }
}

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(register))
        .routes(routes!(account))
        .routes(routes!(change_password))
        .routes(routes!(log_in, log_out))
        .routes(routes!(find))
        .routes(routes!(set_role))
}

/// The client's address for throttling. All clients whose address is unknown share one.
fn address(client: Client) -> IpAddr {
    client.0.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

/// Make an account.
#[utoipa::path(post, path = "/api/accounts", tag = "accounts", operation_id = "register",
    request_body = Credentials,
    responses((status = 201, description = "It is there; log in.", body = ShownAccount)))]
async fn register(
    State(api): State<Api>,
    operation: Operation,
    Json(sent): Json<Credentials>,
) -> Result<(StatusCode, Json<ShownAccount>), Problem> {
    let accounts = &api.platform.accounts;
    let made = accounts.register(&sent.name, &sent.password, operation.id).await?;
    let account = accounts.find(&made.user).await?;
    let account = account.ok_or_else(|| Problem::internal("an account vanished"))?;
    Ok((StatusCode::CREATED, Json(account.into())))
}

/// The account that asks.
#[utoipa::path(get, path = "/api/account", tag = "accounts", operation_id = "account",
    responses((status = 200, description = "The account.", body = ShownAccount)))]
async fn account(State(api): State<Api>, who: Who) -> Result<Json<ShownAccount>, Problem> {
    let user = user(&who, "read")?;
    let account = api.platform.accounts.find(&user).await?;
    Ok(Json(account.ok_or_else(|| Problem::not_found("such account"))?.into()))
}

/// Change the password.
///
/// All sessions end, and this one goes on under a new secret; personal tokens stay.
#[utoipa::path(put, path = "/api/account/password", tag = "accounts",
    operation_id = "change_password", request_body = NewPassword,
    responses((status = 200, description = "It holds.", body = ShownSession)))]
async fn change_password(
    State(api): State<Api>,
    client: Client,
    who: Who,
    Json(sent): Json<NewPassword>,
) -> Result<Response, Problem> {
    let user = user(&who, "write")?;
    if who.via != Via::Session {
        return Err(Problem::forbidden("a session: log in first"));
    }
    let accounts = &api.platform.accounts;
    let client = address(client);
    let opened = accounts.change_password(&user, &sent.old, &sent.new, client).await;
    session(&api, &opened?)
}

/// Log in.
///
/// Sets the session cookie. Whatever session the browser had, this is a new one.
#[utoipa::path(post, path = "/api/session", tag = "accounts", operation_id = "log_in",
    request_body = Credentials,
    responses((status = 200, description = "Logged in.", body = ShownSession)))]
async fn log_in(
    State(api): State<Api>,
    client: Client,
    Json(sent): Json<Credentials>,
) -> Result<Response, Problem> {
    let accounts = &api.platform.accounts;
    let opened = accounts.log_in(&sent.name, &sent.password, address(client)).await?;
    session(&api, &opened)
}

fn session(api: &Api, opened: &LoggedIn) -> Result<Response, Problem> {
    let secret = opened.session.reveal();
    let cookie = api.jar.keep(secret, SESSION_SECONDS)?;
    let (name, csrf) = (opened.user.to_string(), csrf::token(secret));
    let body = Json(ShownSession { name, role: opened.role, csrf });
    Ok(([(header::SET_COOKIE, cookie)], body).into_response())
}

/// Log out.
///
/// Ends the session in every process at once.
#[utoipa::path(delete, path = "/api/session", tag = "accounts", operation_id = "log_out",
    responses((status = 204, description = "Nobody is logged in here any more.")))]
async fn log_out(
    State(api): State<Api>,
    MaybeWho(who): MaybeWho,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if who.is_some_and(|who| who.via != Via::Session) {
        return Err(Problem::forbidden("a session to end: tokens are revoked, keys are rotated"));
    }
    if let Some(secret) = api.jar.secret(&headers) {
        api.platform.accounts.log_out(&secret).await?;
    }
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, api.jar.forget())]).into_response())
}

fn missing(name: &str) -> Problem {
    Problem::not_found(format_args!("account {}", name.chars().take(64).collect::<String>()))
}

/// An account by its name.
///
/// For operators.
#[utoipa::path(get, path = "/api/accounts/{name}", tag = "accounts",
    operation_id = "find_account",
    params(("name" = String, Path, description = "Its name.",
        pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{1,30}[A-Za-z0-9]$")),
    responses((status = 200, description = "The account.", body = ShownAccount)))]
async fn find(
    State(api): State<Api>,
    _operator: Operator,
    Path(name): Path<String>,
) -> Result<Json<ShownAccount>, Problem> {
    let user = UserId::new(&name).map_err(|_| missing(&name))?;
    let account = api.platform.accounts.find(&user).await?;
    Ok(Json(account.ok_or_else(|| missing(&name))?.into()))
}

/// Give an account another role.
///
/// It holds from the next request on, also in open sessions. For operators.
#[utoipa::path(put, path = "/api/accounts/{name}/role", tag = "accounts",
    operation_id = "set_role",
    params(("name" = String, Path, description = "Its name.",
        pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{1,30}[A-Za-z0-9]$")),
    request_body = NewRole,
    responses((status = 204, description = "It holds.")))]
async fn set_role(
    State(api): State<Api>,
    Operator(who): Operator,
    operation: Operation,
    Path(name): Path<String>,
    Json(sent): Json<NewRole>,
) -> Result<StatusCode, Problem> {
    let user = UserId::new(&name).map_err(|_| missing(&name))?;
    let by = bridge::caller(&who).ok_or_else(|| Problem::forbidden("an account"))?;
    api.platform.accounts.set_role(&by, &user, sent.role, operation.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
