//! `/api/search?q=`: one search over everything that a service has registered.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::{MaybeWho, Promise, Who};
use super::extract::{Json, Query};
use super::problem::Problem;

/// Characters of a question: longer than any hash, address or name that can be found.
pub const LONGEST: usize = 128;
/// Hits of an answer.
pub const HITS: usize = 50;

/// Finds things by what a person types.
pub trait Finder: Send + Sync + 'static {
    /// The best hits first, at most `limit`. `text` is trimmed, not empty, and without control
    /// characters. Hits that `who` may not see are left out.
    fn find<'a>(
        &'a self,
        text: &'a str,
        who: Option<&'a Who>,
        limit: usize,
    ) -> Promise<'a, Result<Vec<Hit>, Problem>>;
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Hit {
    /// What it is: "block", "transaction", "address", "project".
    pub kind: String,
    /// Its name or number, for people.
    pub title: String,
    /// Its page.
    #[schema(example = "/btc/block/17")]
    pub page: String,
    /// The chain it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// The whole text names it, so a reader can be led there at once.
    pub exact: bool,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
pub struct Found {
    /// The best first, at most 50.
    pub hits: Vec<Hit>,
}

/// The question.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Question {
    /// What to look for: a hash, height, address, or the beginning of a name.
    #[param(
        min_length = 1,
        max_length = 128,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"
    )]
    q: String,
}

/// The route.
pub(crate) fn routes(finder: Arc<dyn Finder>) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(search)).with_state(finder)
}

/// Search.
///
/// Finds whatever the services know: hashes, heights, addresses, projects, accounts.
#[utoipa::path(get, path = "/api/search", tag = "search", operation_id = "search",
    params(Question),
    responses((status = 200, description = "What was found; an empty list is an answer too.",
        body = Found)))]
async fn search(
    State(finder): State<Arc<dyn Finder>>,
    MaybeWho(who): MaybeWho,
    Query(question): Query<Question>,
) -> Result<Json<Found>, Problem> {
    // Before it is trimmed: what is refused in the middle is refused at the ends, too.
    let odd = question.q.chars().any(char::is_control);
    let text = question.q.trim();
    if text.is_empty() || question.q.chars().count() > LONGEST || odd {
        let detail =
            format!("`q` must have 1 to {LONGEST} characters, without control characters.");
        return Err(Problem::bad_query("q", detail).limit(LONGEST as u64));
    }
    let mut hits = finder.find(text, who.as_ref(), HITS).await?;
    hits.truncate(HITS);
    Ok(Json(Found { hits }))
}
