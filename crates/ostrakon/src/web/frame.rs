//! What every page has: head, navigation, foot, and the one style sheet.

use std::sync::LazyLock;

use maud::{DOCTYPE, Markup, html};
use sha2::{Digest as _, Sha256};

use super::messages::Messages;

/// The style sheet.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Where the style sheet is served. The path changes with its content, so browsers may keep it.
pub(crate) fn style_path() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| {
        let digest = Sha256::digest(STYLE.as_bytes());
        let short: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("/assets/ostrakon-{short}.css")
    });
    &PATH
}

/// A page around its content.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// The words.
    pub(crate) words: &'a Messages,
    /// The title, without the product's name.
    pub(crate) title: &'a str,
    /// The path in the navigation that this page is.
    pub(crate) here: &'a str,
}

impl Frame<'_> {
    /// The whole page.
    pub(crate) fn page(&self, content: &Markup) -> Markup {
        let words = self.words;
        let links = [("/", words.status), ("/shards", words.shards), ("/metrics", words.metrics)];
        html! {
            (DOCTYPE)
            html lang=(words.language) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · Ostrakon" }
                    link rel="stylesheet" href=(style_path());
                    link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                }
                body {
                    a.skip href="#content" { (words.skip) }
                    header.bar {
                        div.inner {
                            a.brand href="/" { (shard()) span { "Ostrakon" } }
                            nav {
                                @for (path, name) in links {
                                    @if path == self.here {
                                        a href=(path) aria-current="page" { (name) }
                                    } @else {
                                        a href=(path) { (name) }
                                    }
                                }
                            }
                        }
                    }
                    main #content { (content) }
                    footer { p { "Ostrakon " (env!("CARGO_PKG_VERSION")) " · " (words.tagline) } }
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

/// The mark as an icon of its own.
pub(crate) const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 24 24\">\
    <path fill=\"#b4572c\" d=\"M3 7.5 10 2l10.5 4.5L22 15l-8.5 7L5 18.5z\"/></svg>";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::messages::ENGLISH;

    #[test]
    fn a_page_has_no_inline_style_or_script_and_marks_where_it_is() {
        let frame = Frame { words: &ENGLISH, title: "a <b>", here: "/shards" };
        let page = frame.page(&html! { p { "x" } }).into_string();
        for foreign in ["<style", "style=", "<script", "http:", "https:"] {
            assert!(!page.contains(foreign), "{foreign} is in the page");
        }
        assert!(page.contains("<a href=\"/shards\" aria-current=\"page\">"));
        assert!(page.contains("<title>a &lt;b&gt; · Ostrakon</title>"));
        assert!(page.contains(style_path()));
    }
}
