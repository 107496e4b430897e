//! Projects of an account, and their keys.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use store::{Cursor, Order};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Api, user};
use crate::accounts::{Scope, UserId};
use crate::bridge;
use crate::chains::ChainName;
use crate::http::{Items, Json, List, Operation, Operator, Path, Problem, Query, Who};
use crate::projects::{By, ListRequest, NewProject, Pid, Project, Status, Which};

/// A project to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WantedProject {
    /// For which chain.
    #[schema(pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32, example = "conflux")]
    chain: String,
    /// What you call it.
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$",
        example = "wallet"
    )]
    name: String,
}

/// A new name.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Renamed {
    /// What you call it from now on.
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"
    )]
    name: String,
}

/// A project.
#[derive(Debug, Serialize, ToSchema)]
struct ShownProject {
    /// Its id.
    id: String,
    /// For which chain.
    chain: String,
    /// What its owner calls it.
    name: String,
    /// When it was made, Unix milliseconds.
    created: u64,
    /// When it changed last.
    updated: u64,
}

/// A project with its key.
#[derive(Debug, Serialize, ToSchema)]
struct WithKey {
    /// The project.
    project: ShownProject,
    /// The key, shown this once. Absent when the same operation was done before: then rotate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// How many.
#[derive(Debug, Serialize, ToSchema)]
struct Counted {
    /// How many.
    count: u64,
}

/// What a list is ordered by.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum OrderedBy {
    /// Creation time.
    #[default]
    Created,
    /// Time of the last change.
    Updated,
}

/// In which direction.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Direction {
    /// The latest first.
    #[default]
    Desc,
    /// The oldest first.
    Asc,
}

/// Which projects, in which order.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// Whose. Yours without it; operators may name others.
    #[param(pattern = r"^[\t-\r ]*[A-Za-z0-9][A-Za-z0-9._-]{1,30}[A-Za-z0-9][\t-\r ]*$")]
    owner: Option<String>,
    /// Only of this chain.
    #[param(pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32)]
    chain: Option<String>,
    /// Ordered by what.
    #[serde(default)]
    #[param(inline)]
    order: OrderedBy,
    /// In which direction.
    #[serde(default)]
    #[param(inline)]
    direction: Direction,
    /// From this moment on, Unix milliseconds.
    from: Option<u64>,
    /// Before this moment.
    to: Option<u64>,
}

/// In which order, and of which period.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct OfChain {
    /// Ordered by what.
    #[serde(default)]
    #[param(inline)]
    order: OrderedBy,
    /// In which direction.
    #[serde(default)]
    #[param(inline)]
    direction: Direction,
    /// From this moment on, Unix milliseconds.
    from: Option<u64>,
    /// Before this moment.
    to: Option<u64>,
}

/// Which projects are counted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Counting {
    /// Whose. Those of everybody without it.
    #[param(pattern = r"^[\t-\r ]*[A-Za-z0-9][A-Za-z0-9._-]{1,30}[A-Za-z0-9][\t-\r ]*$")]
    owner: Option<String>,
    /// Only of this chain.
    #[param(pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32)]
    chain: Option<String>,
    /// Made from this moment on, Unix milliseconds. Needs `owner`.
    from: Option<u64>,
    /// Made before this moment. Needs `owner`.
    to: Option<u64>,
}

impl From<Project> for ShownProject {
    fn from(project: Project) -> Self {
        Self {
            id: project.pid.to_string(),
            chain: project.chain.to_string(),
            name: project.name,
            created: project.createtime,
            updated: project.lasttime,
        }
    }
}

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(projects, create))
        .routes(routes!(of_chain))
        .routes(routes!(count))
        .routes(routes!(project, rename, delete))
        .routes(routes!(rotate))
}

/// The owner that is asked for: oneself, or for operators anybody.
fn owner(who: &Who, named: Option<&str>) -> Result<UserId, Problem> {
    let own = user(who, "read")?;
    let Some(named) = named else { return Ok(own) };
    let named = UserId::new(named);
    let named = named.map_err(|error| Problem::bad_query("owner", error.to_string()))?;
    if named == own || is_operator(who) {
        return Ok(named);
    }
    Err(Problem::forbidden("the role `operator` to see what others have"))
}

fn is_operator(who: &Who) -> bool {
    bridge::caller(who).is_some_and(|caller| caller.may(Scope::Operator))
}

fn chain_of(text: &str) -> Result<ChainName, Problem> {
    ChainName::new(text).map_err(|error| Problem::bad_query("chain", error.to_string()))
}

fn of_user(user: UserId, chain: Option<&str>) -> Result<Which, Problem> {
    Ok(match chain {
        None => Which::User(user),
        Some(chain) => Which::UserChain(user, chain_of(chain)?),
    })
}

fn pid_of(text: &str) -> Result<Pid, Problem> {
    Pid::parse(text).ok_or_else(|| missing(text))
}

fn missing(pid: &str) -> Problem {
    Problem::not_found(format_args!("project {}", pid.chars().take(64).collect::<String>()))
}

/// Your projects.
///
/// A page has at most 200. Operators may ask for those of others.
#[utoipa::path(get, path = "/api/projects", tag = "projects", operation_id = "projects",
    params(
        ("limit" = Option<u16>, Query, description = "Items of the page, else 50.", minimum = 1,
            maximum = 200),
        ("cursor" = Option<String>, Query,
            description = "`next` of the page before, of the same list with the same filter."),
        Filter,
    ),
    responses((status = 200, description = "A page.", body = Items<ShownProject>)))]
async fn projects(
    State(api): State<Api>,
    who: Who,
    list: List<Filter>,
) -> Result<Response, Problem> {
    let filter = &list.filter;
    let which = of_user(owner(&who, filter.owner.as_deref())?, filter.chain.as_deref())?;
    let order = (filter.order, filter.direction, filter.from, filter.to);
    page(&api, which, order, &list).await
}

/// Projects of a chain.
///
/// Of everybody, for operators. A page has at most 200.
#[utoipa::path(get, path = "/api/chains/{chain}/projects", tag = "projects",
    operation_id = "projects_of_chain",
    params(
        ("chain" = String, Path, description = "Its name.", pattern = "^[a-z](-?[a-z0-9])+$",
            max_length = 32),
        ("limit" = Option<u16>, Query, description = "Items of the page, else 50.", minimum = 1,
            maximum = 200),
        ("cursor" = Option<String>, Query,
            description = "`next` of the page before, of the same list with the same filter."),
        OfChain,
    ),
    responses((status = 200, description = "A page.", body = Items<ShownProject>)))]
async fn of_chain(
    State(api): State<Api>,
    _operator: Operator,
    Path(chain): Path<String>,
    list: List<OfChain>,
) -> Result<Response, Problem> {
    let missing = |_| Problem::not_found("chain of this name");
    let which = Which::Chain(ChainName::new(chain).map_err(missing)?);
    let OfChain { order, direction, from, to } = &list.filter;
    page(&api, which, (*order, *direction, *from, *to), &list).await
}

async fn page<F>(
    api: &Api,
    which: Which,
    (order, direction, from, to): (OrderedBy, Direction, Option<u64>, Option<u64>),
    list: &List<F>,
) -> Result<Response, Problem> {
    let request = ListRequest {
        which,
        by: match order {
            OrderedBy::Created => By::Created,
            OrderedBy::Updated => By::Updated,
        },
        order: match direction {
            Direction::Desc => Order::Descending,
            Direction::Asc => Order::Ascending,
        },
        from,
        to,
        limit: list.page.limit,
        cursor: list.page.cursor.as_ref().map(|cursor| cursor.as_str().to_owned()),
    };
    let page = api.platform.projects.list(&request).await?;
    let next = page.next.as_deref().map(Cursor::parse).transpose()?;
    let items: Vec<ShownProject> = page.projects.into_iter().map(ShownProject::from).collect();
    Ok(list.answer(items, next.as_ref()))
}

/// How many projects there are.
///
/// Of everybody, of a chain, or of an owner; of an owner also in a period.
#[utoipa::path(get, path = "/api/projects/count", tag = "projects",
    operation_id = "count_projects", params(Counting),
    responses((status = 200, description = "The number.", body = Counted)))]
async fn count(
    State(api): State<Api>,
    who: Who,
    Query(counting): Query<Counting>,
) -> Result<Json<Counted>, Problem> {
    let Counting { owner: named, chain, from, to } = counting;
    let projects = &api.platform.projects;
    let period = from.is_some() || to.is_some();
    let count = match (&named, &chain) {
        (Some(named), chain) => {
            let which = of_user(owner(&who, Some(named))?, chain.as_deref())?;
            match period {
                // Bounded: an owner has few projects.
                true => projects.count_between(&which, By::Created, from, to).await?,
                false => projects.count(&which).await?,
            }
        }
        (None, _) if period => {
            let detail = "A period is counted for an owner only. Add `owner`, or leave it out.";
            return Err(Problem::bad_query("owner", detail));
        }
        (None, Some(chain)) => projects.count(&Which::Chain(chain_of(chain)?)).await?,
        (None, None) => projects.count_all().await?,
    };
    Ok(Json(Counted { count }))
}

/// Make a project.
#[utoipa::path(post, path = "/api/projects", tag = "projects", operation_id = "create_project",
    request_body = WantedProject,
    responses((status = 201, description = "Its key is shown this once.", body = WithKey)))]
async fn create(
    State(api): State<Api>,
    who: Who,
    operation: Operation,
    Json(wanted): Json<WantedProject>,
) -> Result<(StatusCode, Json<WithKey>), Problem> {
    let uid = user(&who, "write")?;
    let new = NewProject { uid, chain: wanted.chain, name: wanted.name };
    let made = api.platform.projects.create(new, operation.id).await?;
    let key = made.key.map(|key| key.reveal().to_owned());
    Ok((StatusCode::CREATED, Json(WithKey { project: made.project.into(), key })))
}

/// A project of yours.
///
/// Operators also see those of others.
#[utoipa::path(get, path = "/api/projects/{id}", tag = "projects", operation_id = "project",
    params(("id" = String, Path, description = "Its id.", pattern = "^[0-9a-f]{32}$")),
    responses((status = 200, description = "The project.", body = ShownProject)))]
async fn project(
    State(api): State<Api>,
    who: Who,
    Path(id): Path<String>,
) -> Result<Json<ShownProject>, Problem> {
    let user = user(&who, "read")?;
    let found = api.platform.projects.find(pid_of(&id)?).await?;
    let seen = found.filter(|it| it.uid == user || is_operator(&who));
    let seen = seen.filter(|it| it.status == Status::Active);
    Ok(Json(seen.ok_or_else(|| missing(&id))?.into()))
}

/// Rename a project.
#[utoipa::path(patch, path = "/api/projects/{id}", tag = "projects",
    operation_id = "rename_project",
    params(("id" = String, Path, description = "Its id.", pattern = "^[0-9a-f]{32}$")),
    request_body = Renamed,
    responses((status = 200, description = "The project.", body = ShownProject)))]
async fn rename(
    State(api): State<Api>,
    who: Who,
    operation: Operation,
    Path(id): Path<String>,
    Json(renamed): Json<Renamed>,
) -> Result<Json<ShownProject>, Problem> {
    let user = user(&who, "write")?;
    let (pid, name) = (pid_of(&id)?, &renamed.name);
    let project = api.platform.projects.rename(&user, pid, name, operation.id).await?;
    Ok(Json(project.into()))
}

/// Delete a project.
///
/// It leaves all lists and counts, and its key opens nothing.
#[utoipa::path(delete, path = "/api/projects/{id}", tag = "projects",
    operation_id = "delete_project",
    params(("id" = String, Path, description = "Its id.", pattern = "^[0-9a-f]{32}$")),
    responses((status = 204, description = "It is gone.")))]
async fn delete(
    State(api): State<Api>,
    who: Who,
    operation: Operation,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let user = user(&who, "write")?;
    api.platform.projects.delete(&user, pid_of(&id)?, operation.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Give a project another key.
///
/// The old one opens nothing from then on; within five seconds no process remembers it.
#[utoipa::path(post, path = "/api/projects/{id}/key", tag = "projects",
    operation_id = "rotate_key",
    params(("id" = String, Path, description = "Its id.", pattern = "^[0-9a-f]{32}$")),
    responses((status = 200, description = "The key is shown this once.", body = WithKey)))]
async fn rotate(
    State(api): State<Api>,
    who: Who,
    operation: Operation,
    Path(id): Path<String>,
) -> Result<Json<WithKey>, Problem> {
    let user = user(&who, "write")?;
    let rotated = api.platform.projects.rotate_key(&user, pid_of(&id)?, operation.id).await?;
    let key = rotated.key.map(|key| key.reveal().to_owned());
    Ok(Json(WithKey { project: rotated.project.into(), key }))
}
