//! Parts of the account page that are not forms of their own.

use maud::{Markup, html};
use platform::accounts::Role;
use platform::chains::Chains;
use platform::projects::ProjectPage;
use web::{Messages, Pager};

use crate::pages::kit::{Visitor, moment};

pub(super) fn role(words: &Messages, role: Role) -> &'static str {
    match role {
        Role::User => words.role_user,
        Role::Operator => words.role_operator,
    }
}

pub(super) fn projects(
    visitor: &Visitor,
    list: &ProjectPage,
    later: bool,
    chains: &Chains,
) -> Markup {
    let words = visitor.words();
    let pager = Pager { words, path: "/account", later, next: list.next.as_deref() };
    html! {
        section {
            h2 { (words.your_projects) }
            @if list.projects.is_empty() {
                (web::empty(words.no_projects, words.no_projects_advice))
            } @else {
                div.scroll role="region" tabindex="0" aria-label=(words.your_projects) { table {
                    thead { tr {
                        th { (words.name) } th { (words.chain) } th { (words.created) }
                        th { (words.updated) }
                    } }
                    tbody {
                        @for project in &list.projects {
                            tr {
                                th scope="row" {
                                    a href={ "/projects/" (project.pid) } { (project.name) }
                                }
                                td { (project.chain) }
                                td.word { (moment(project.createtime)) }
                                td.word { (moment(project.lasttime)) }
                            }
                        }
                    }
                } }
                (pager.links())
            }
            (new_project(visitor, chains))
        }
    }
}

fn new_project(visitor: &Visitor, chains: &Chains) -> Markup {
    let words = visitor.words();
    html! {
        form.row method="post" action="/account/projects" aria-label=(words.new_project) {
            (visitor.token())
            label {
                span { (words.new_project) }
                input name="name" required maxlength="64";
            }
            label {
                span { (words.chain) }
                select name="chain" required {
                    @for (_, chain) in chains.iter().filter(|(_, chain)| chain.enabled) {
                        option value=(chain.name) { (chain.name) }
                    }
                }
            }
            button { (words.create) }
        }
    }
}

pub(super) fn password(visitor: &Visitor) -> Markup {
    let words = visitor.words();
    let field = |name: &str, title: &str, hint: &str| {
        html! {
            label {
                span { (title) }
                input type="password" name=(name) required maxlength="256" autocomplete=(hint);
            }
        }
    };
    html! {
        section {
            h2 { (words.change_password) }
            form.row method="post" action="/account/password" {
                (visitor.token())
                (field("old", words.old_password, "current-password"))
                (field("new", words.new_password, "new-password"))
                button { (words.change) }
            }
        }
    }
}
