//! Accounts as an attacker and as their owner see them.

mod common;

use common::{DAY, Home, PASSWORD, World, client, op, user};
use platform::accounts::{
    CheckError, Credential, LoginError, NewToken, RegisterError, Role, Scope, Scopes, TokenError,
};

async fn world(home: &Home) -> World {
    let world = World::on(home.engine.clone()).await;
    world.accounts.register("ann", PASSWORD, op()).await.expect("registers");
    world
}

fn invalid<T: std::fmt::Debug>(found: Result<T, CheckError>) -> bool {
    matches!(found, Err(CheckError::Invalid))
}

#[tokio::test]
async fn an_account_is_made_once_and_its_owner_logs_in_and_out() {
    for home in Home::both() {
        let world = World::on(home.engine.clone()).await;
        let accounts = &world.accounts;
        let name = op();
        let made = accounts.register("Ann", PASSWORD, name).await.expect("registers");
        assert!(!made.repeated);
        let account = accounts.find(&made.user).await.expect("reads").expect("is there");
        assert_eq!((account.created, account.role), (world.clock.now(), Role::User));
        let again = accounts.register("ann", PASSWORD, name).await.expect("the same request");
        assert!(again.repeated);
        let error = accounts.register("ann", PASSWORD, op()).await.expect_err("taken");
        assert!(matches!(error, RegisterError::Taken), "{error}");
        let login = accounts.log_in("ann", PASSWORD, client(1)).await.expect("logs in");
        assert_eq!((login.user, login.role), (user("ann"), Role::User));
        let caller = accounts.check_session(login.session.reveal()).await.expect("valid");
        assert_eq!(caller.user, user("ann"));
        assert!(caller.may(Scope::Write) && !caller.may(Scope::Operator));
        accounts.log_out(login.session.reveal()).await.expect("logs out");
        assert!(invalid(accounts.check_session(login.session.reveal()).await));
        accounts.log_out(login.session.reveal()).await.expect("twice is once");
    }
}

/// Session fixation: an attacker plants a session id in the victim's browser before the login. The
/// login must not make that id the victim's.
#[tokio::test]
async fn a_login_never_keeps_a_session_id() {
    let world = world(&Home::model()).await;
    let first = world.accounts.log_in("ann", PASSWORD, client(1)).await.expect("logs in");
    let second = world.accounts.log_in("ann", PASSWORD, client(1)).await.expect("logs in");
    assert_ne!(first.session, second.session);
    let planted = "A".repeat(43);
    assert!(invalid(world.accounts.check_session(&planted).await));
    let changed = world
        .accounts
        .change_password(&user("ann"), PASSWORD, "another horse battery", client(1))
        .await
        .expect("changes");
    for old in [&first.session, &second.session] {
        assert!(invalid(world.accounts.check_session(old.reveal()).await), "all others end");
    }
    world.accounts.check_session(changed.session.reveal()).await.expect("the new one is valid");
    let error = world.accounts.log_in("ann", PASSWORD, client(1)).await.expect_err("old password");
    assert!(matches!(error, LoginError::Wrong), "{error}");
}

#[tokio::test]
async fn only_hashes_of_secrets_are_in_the_store() {
    use store::Maintenance as _;
    let engine = std::sync::Arc::new(store::ModelEngine::default());
    let world = World::on(engine.clone()).await;
    world.accounts.register("ann", PASSWORD, op()).await.expect("registers");
    let session = world.accounts.log_in("ann", PASSWORD, client(1)).await.expect("logs in").session;
    let new = NewToken { name: "ci".into(), scopes: Scopes::ALL, expires: None };
    world.accounts.create_token(&user("ann"), new).await.expect_err("no operator");
    let scopes = [Scope::Read].into_iter().collect();
    let new = NewToken { name: "ci".into(), scopes, expires: None };
    let token = world.accounts.create_token(&user("ann"), new).await.expect("makes");
    let walker = engine.walk().await.expect("walks");
    let mut everything = String::new();
    for table in platform::tables() {
        let page = walker.page(table, None, 1000).await.expect("reads");
        everything += &format!("{:?}", page.entries);
    }
    assert!(everything.contains("argon2id"), "the rows are readable");
    for secret in [session.reveal(), token.reveal(), PASSWORD] {
        assert!(!everything.contains(secret));
    }
}

#[tokio::test]
async fn guessed_sessions_and_tokens_are_refused() {
    let world = world(&Home::model()).await;
    let session = world.accounts.log_in("ann", PASSWORD, client(1)).await.expect("logs in").session;
    let session = session.reveal();
    let scopes = [Scope::Read].into_iter().collect();
    let new = NewToken { name: "ci".into(), scopes, expires: None };
    let token = world.accounts.create_token(&user("ann"), new).await.expect("makes");
    let token = token.reveal();
    let mut changed = session.to_owned();
    let last = if changed.ends_with('A') { "B" } else { "A" };
    changed.replace_range(42.., last);
    for guess in ["", "A", &session[..42], &format!("{session}A"), &changed, token, "../../etc"] {
        assert!(invalid(world.accounts.check_session(guess).await), "{guess}");
    }
    let unprefixed = token.trim_start_matches("ost_");
    for guess in ["", "ost_", unprefixed, session, &format!("ost_{session}"), &token[..46]] {
        assert!(invalid(world.accounts.check_token(guess).await), "{guess}");
    }
    world.accounts.check_token(token).await.expect("the right one is valid");
}

#[tokio::test]
async fn guessing_is_slowed_down_and_the_owner_gets_in_again() {
    for home in Home::both() {
        let world = world(&home).await;
        let mut throttled = 0;
        for guess in 0..12u8 {
            let error = world
                .accounts
                .log_in("ann", "a wrong password", client(guess))
                .await
                .expect_err("wrong");
            throttled += u64::from(matches!(error, LoginError::Throttled { .. }));
        }
        // Six are free or begin the first delay; the clock stands still, so all others wait.
        assert_eq!(throttled, 6);
        let error = world.accounts.log_in("ann", PASSWORD, client(99)).await.expect_err("waits");
        let LoginError::Throttled { seconds } = error else { panic!("{error}") };
        // Another process on the same store knows of it.
        let other = World::on(home.engine.clone()).await;
        let error = other.accounts.log_in("ann", PASSWORD, client(98)).await.expect_err("waits");
        assert!(matches!(error, LoginError::Throttled { .. }), "{error}");
        world.hand.forward(seconds * 1000);
        world.accounts.log_in("ann", PASSWORD, client(99)).await.expect("waited long enough");
        world.accounts.log_in("ann", PASSWORD, client(99)).await.expect("all is forgotten");
    }
}

/// Guesses at the same time must count like guesses one after the other.
#[tokio::test]
async fn guesses_at_the_same_time_all_count() {
    let world = world(&Home::model()).await;
    let guesses = (0..20u8).map(|guess| {
        let accounts = world.accounts.clone();
        async move { accounts.log_in("ann", "a wrong password", client(guess)).await }
    });
    let answers = futures_util::future::join_all(guesses).await;
    let looked_at = answers.iter().filter(|a| matches!(a, Err(LoginError::Wrong))).count();
    assert_eq!(looked_at, 6, "the others never got as far as the password");
}

/// Whether a name exists shows neither in the message nor in the delays.
#[tokio::test]
async fn a_name_nobody_has_looks_like_a_wrong_password() {
    let world = world(&Home::model()).await;
    let mut heard = Vec::new();
    for name in ["ann", "nobody", "not a name!"] {
        let mut answers = Vec::new();
        for guess in 0..9 {
            let answer = world.accounts.log_in(name, "a wrong password", client(guess)).await;
            answers.push(answer.expect_err("wrong").to_string());
        }
        heard.push(answers);
    }
    assert_eq!(heard[0], heard[1]);
    assert_eq!(heard[0], heard[2]);
}

#[tokio::test]
async fn one_address_cannot_try_many_names() {
    let world = world(&Home::model()).await;
    let mut throttled = false;
    for guess in 0..40 {
        let name = format!("name{guess}");
        let answer = world.accounts.log_in(&name, "a wrong password", client(1)).await;
        throttled |= matches!(answer, Err(LoginError::Throttled { .. }));
    }
    assert!(throttled);
    world.accounts.log_in("ann", PASSWORD, client(2)).await.expect("others are not concerned");
}

#[tokio::test]
async fn sessions_end_by_age_and_by_idleness_and_renew_daily() {
    let world = world(&Home::model()).await;
    let accounts = &world.accounts;
    let idle = accounts.log_in("ann", PASSWORD, client(1)).await.expect("logs in").session;
    assert_eq!(accounts.renew_session(idle.reveal()).await.expect("valid"), None);
    let mut used = accounts.log_in("ann", PASSWORD, client(1)).await.expect("logs in").session;
    for day in 1..30 {
        world.hand.forward(DAY);
        let caller = accounts.check_session(used.reveal()).await.expect("in use");
        assert_eq!(caller.credential, Credential::Session { renew: true }, "day {day}");
        let new = accounts.renew_session(used.reveal()).await.expect("valid").expect("a day old");
        accounts.check_session(used.reveal()).await.expect("requests under way go on");
        let second = accounts.renew_session(used.reveal()).await.expect("still valid");
        assert_eq!(second, None, "one id has one successor");
        world.hand.forward(60_000);
        assert!(invalid(accounts.check_session(used.reveal()).await), "the old id ends");
        used = new;
        assert_eq!(invalid(accounts.check_session(idle.reveal()).await), day >= 7, "day {day}");
    }
    world.hand.forward(DAY);
    assert!(invalid(accounts.check_session(used.reveal()).await), "30 days are the end");
}

#[tokio::test]
async fn an_account_has_a_bounded_number_of_sessions() {
    let world = world(&Home::model()).await;
    let mut sessions = Vec::new();
    for _ in 0..52 {
        world.hand.forward(1);
        let login = world.accounts.log_in("ann", PASSWORD, client(1)).await.expect("logs in");
        sessions.push(login.session);
    }
    for (number, session) in sessions.iter().enumerate() {
        let gone = invalid(world.accounts.check_session(session.reveal()).await);
        assert_eq!(gone, number < 2, "session {number}");
    }
}

#[tokio::test]
async fn tokens_are_named_listed_limited_and_revoked() {
    for home in Home::both() {
        let world = world(&home).await;
        let (accounts, ann) = (&world.accounts, user("ann"));
        let new = |name: &str, expires| NewToken {
            name: name.into(),
            scopes: [Scope::Read].into_iter().collect(),
            expires,
        };
        let end = world.clock.now() + DAY;
        let ends = accounts.create_token(&ann, new("ends", Some(end))).await.expect("makes");
        world.hand.forward(1);
        let stays = accounts.create_token(&ann, new("stays", None)).await.expect("makes");
        let error = accounts.create_token(&ann, new("stays", None)).await.expect_err("twice");
        assert!(matches!(error, TokenError::Taken), "{error}");
        for bad in [new("", None), new("past", Some(1)), new("a\nb", None)] {
            accounts.create_token(&ann, bad).await.expect_err("refused");
        }
        let caller = accounts.check_token(ends.reveal()).await.expect("valid");
        assert!(caller.may(Scope::Read) && !caller.may(Scope::Write));
        world.hand.forward(DAY);
        assert!(invalid(accounts.check_token(ends.reveal()).await), "it ended by itself");
        let listed = accounts.tokens(&ann).await.expect("reads");
        let names: Vec<_> = listed.iter().map(|shown| shown.token.name.as_str()).collect();
        assert_eq!(names, ["ends", "stays"]);
        accounts.revoke_token(&ann, &listed[1].id).await.expect("revokes");
        assert!(invalid(accounts.check_token(stays.reveal()).await));
        let error = accounts.revoke_token(&ann, &listed[1].id).await.expect_err("gone");
        assert!(matches!(error, TokenError::Missing), "{error}");
    }
}

/// Somebody may have registered the name that the operator then chooses on the command line. They
/// must not become an operator by it.
#[tokio::test]
async fn the_first_operator_is_whoever_has_the_store() {
    let world = world(&Home::model()).await;
    let accounts = &world.accounts;
    let squatter = accounts.log_in("ann", PASSWORD, client(1)).await.expect("logs in").session;
    let password = "the operator's own";
    accounts.make_operator("ann", password, op()).await.expect("makes");
    assert!(invalid(accounts.check_session(squatter.reveal()).await));
    accounts.log_in("ann", PASSWORD, client(1)).await.expect_err("the old password is gone");
    let login = accounts.log_in("ann", password, client(1)).await.expect("logs in");
    assert_eq!(login.role, Role::Operator);
    let operator = accounts.check_session(login.session.reveal()).await.expect("valid");
    accounts.register("bob", PASSWORD, op()).await.expect("registers");
    let bob = accounts.log_in("bob", PASSWORD, client(1)).await.expect("logs in").session;
    let caller = accounts.check_session(bob.reveal()).await.expect("valid");
    accounts.set_role(&caller, &user("bob"), Role::Operator, op()).await.expect_err("may not");
    accounts.set_role(&operator, &user("bob"), Role::Operator, op()).await.expect("may");
    let caller = accounts.check_session(bob.reveal()).await.expect("valid");
    assert!(caller.may(Scope::Operator), "roles hold from the next request on");
}
