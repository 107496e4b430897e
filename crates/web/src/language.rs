//! Which language a reader gets.

use crate::messages::{CHINESE, ENGLISH, Messages};

/// A language of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

impl Language {
    /// All of them, in the order they are offered.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];
    /// The cookie that keeps a choice, and the parameter that makes one.
    pub const COOKIE: &'static str = "lang";

    /// Its words.
    #[must_use]
    pub fn words(self) -> &'static Messages {
        match self {
            Self::English => &ENGLISH,
            Self::Chinese => &CHINESE,
        }
    }

    /// Its tag, as in `lang="zh"`.
    #[must_use]
    pub fn tag(self) -> &'static str {
        self.words().language
    }

    /// The language with this tag, e.g. from a parameter.
    #[must_use]
    pub fn from_tag(tag: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.tag() == tag)
    }

    /// What a request asks for: the parameter first, then the kept choice, then the browser's
    /// wishes.
    #[must_use]
    pub fn choose(query: Option<&str>, cookies: &str, accepted: &str) -> Self {
        let value_of = |pairs: &str, between: char| {
            pairs.split(between).find_map(|pair| {
                let (name, value) = pair.trim().split_once('=')?;
                (name == Self::COOKIE).then(|| Self::from_tag(value)).flatten()
            })
        };
        query
            .and_then(|query| value_of(query, '&'))
            .or_else(|| value_of(cookies, ';'))
            .unwrap_or_else(|| Self::wished(accepted))
    }

    /// The best of an `Accept-Language` header.
    fn wished(accepted: &str) -> Self {
        let wish = |part: &str| {
            let (tag, weight) = part.split_once(";q=").unwrap_or((part, "1"));
            let primary = tag.trim().split('-').next().unwrap_or_default().to_ascii_lowercase();
            let weight: f32 = weight.trim().parse().unwrap_or(0.0);
            Self::from_tag(&primary).filter(|_| weight > 0.0).map(|language| (language, weight))
        };
        let mut best: Option<(Self, f32)> = None;
        for (language, weight) in accepted.split(',').filter_map(wish) {
            // Of two equal wishes the first counts.
            if best.is_none_or(|(_, known)| weight > known) {
                best = Some((language, weight));
            }
        }
        best.map_or_else(Self::default, |(language, _)| language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_beats_the_cookie_and_the_cookie_the_browser() {
        let check = |query: Option<&str>, cookies: &str, accepted: &str, expected: Language| {
            let found = Language::choose(query, cookies, accepted);
            assert_eq!(found, expected, "{query:?} {cookies} {accepted}");
        };
        check(None, "", "", Language::English);
        check(None, "", "zh-CN,zh;q=0.9,en;q=0.8", Language::Chinese);
        check(None, "", "fr, en;q=0.5, zh;q=0.7", Language::Chinese);
        check(None, "", "zh;q=0, en", Language::English);
        check(None, "", "zh;q=rubbish", Language::English);
        check(None, "a=b; lang=zh", "en", Language::Chinese);
        check(Some("x=1&lang=en"), "lang=zh", "zh", Language::English);
        check(Some("lang=klingon"), "", "zh", Language::Chinese);
    }
}
