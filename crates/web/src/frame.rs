//! What every page has: head, navigation, foot, and the one style sheet.

use maud::{DOCTYPE, Markup, html};

use crate::assets::{ICON_FILE, SCRIPT_FILE, STYLE_SHEET};
use crate::language::Language;
use crate::messages::Messages;

/// An entry of the navigation.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Where it leads.
    pub path: &'static str,
    /// What it is called.
    pub name: fn(&Messages) -> &'static str,
}

/// The navigation: every section of the product.
const SECTIONS: &[Link] = &[
    Link { path: "/", name: |words| words.home },
    Link { path: "/chains", name: |words| words.chains },
    Link { path: "/staking", name: |words| words.staking },
    Link { path: "/status", name: |words| words.status },
    Link { path: "/shards", name: |words| words.shards },
    Link { path: "/api/docs", name: |words| words.api },
];

/// A page around its content.
#[derive(Debug)]
pub struct Frame<'a> {
    /// The language.
    pub language: Language,
    /// The title, without the product's name.
    pub title: &'a str,
    /// The path of this page, marked in the navigation; the other language is offered there.
    pub here: &'a str,
    /// Who is logged in.
    pub user: Option<&'a str>,
}

impl Frame<'_> {
    /// The whole page.
    #[must_use]
    pub fn page(&self, content: &Markup) -> Markup {
        let words = self.language.words();
        html! {
            (DOCTYPE)
            html lang=(words.language) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · Ostrakon" }
                    link rel="stylesheet" href=(STYLE_SHEET.path.as_str());
                    link rel="icon" href=(ICON_FILE.path.as_str()) type="image/svg+xml";
                    script src=(SCRIPT_FILE.path.as_str()) defer {}
                }
                body {
                    a.skip href="#content" { (words.skip) }
                    (self.bar(words))
                    main #content { (content) }
                    (self.foot(words))
                }
            }
        }
    }

    fn bar(&self, words: &Messages) -> Markup {
        html! {
            header.bar {
                div.inner {
                    a.brand href="/" { (shard()) span { "Ostrakon" } }
                    nav aria-label=(words.sections) {
                        @for link in SECTIONS {
                            @let here = (link.path == self.here).then_some("page");
                            a href=(link.path) aria-current=[here] { ((link.name)(words)) }
                        }
                    }
                    form.find action="/search" role="search" {
                        input type="search" name="q" required maxlength="128"
                            aria-label=(words.search) placeholder=(words.search);
                    }
                    (self.who(words))
                }
            }
        }
    }

    fn who(&self, words: &Messages) -> Markup {
        let (path, name) = match self.user {
            Some(user) => ("/account", user),
            None => ("/login", words.log_in),
        };
        let here = (path == self.here).then_some("page");
        html! {
            nav.who aria-label=(words.account) { a href=(path) aria-current=[here] { (name) } }
        }
    }

    fn foot(&self, words: &Messages) -> Markup {
        html! {
            footer {
                p { "Ostrakon " (env!("CARGO_PKG_VERSION")) " · " (words.tagline) }
                nav.languages aria-label=(words.languages) {
                    @for language in Language::ALL {
                        @let name = language.words().language_name;
                        @if language == self.language {
                            span lang=(language.tag()) aria-current="true" { (name) }
                        } @else {
                            @let joined = if self.here.contains('?') { '&' } else { '?' };
                            @let target = format!("{}{joined}lang={}", self.here, language.tag());
                            a href=(target) hreflang=(language.tag()) lang=(language.tag()) {
                                (name)
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The mark: a shard of pottery.
fn shard() -> Markup {
    html! {
        svg.mark viewBox="0 0 24 24" aria-hidden="true" {
            path d="M3 7.5 10 2l10.5 4.5L22 15l-8.5 7L5 18.5z" {}
            path.line d="M10 2l2.5 8.5L22 15M12.5 10.5 5 18.5" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_nothing_inline_and_marks_where_it_is() {
        let frame =
            Frame { language: Language::English, title: "a <b>", here: "/shards", user: None };
        let page = frame.page(&html! { p { "x" } }).into_string();
        for foreign in ["<style", "style=", "<script>", "http:", "https:", "onclick"] {
            assert!(!page.contains(foreign), "{foreign} is in the page");
        }
        assert!(page.contains("<a href=\"/shards\" aria-current=\"page\">"));
        assert!(page.contains("<title>a &lt;b&gt; · Ostrakon</title>"));
        assert!(page.contains(STYLE_SHEET.path.as_str()));
        assert!(page.contains("href=\"/shards?lang=zh\""), "the other language is one step away");
    }

    #[test]
    fn a_page_is_whole_in_the_other_language_too() {
        let frame = Frame { language: Language::Chinese, title: "x", here: "/", user: Some("ann") };
        let page = frame.page(&html! {}).into_string();
        assert!(page.contains("<html lang=\"zh\">") && page.contains("分片"), "{page}");
        assert!(page.contains("<a href=\"/account\">ann</a>"), "{page}");
    }
}
