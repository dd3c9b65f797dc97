//! Calls through a proxy: given to it, or through a tunnel; what it refuses was not sent (E1); its credentials are its own.

use std::process::Command;
use std::time::Duration;

use mcp_sse_core::client::{CallError, Outcome};
use mcp_sse_core::exchange::{BreakKind, FailureKind};
use mcp_sse_tests::forward_proxy::{ForwardProxy, Manner};
use mcp_sse_tests::matrix::METHOD;
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Script, Sse};
use mcp_sse_tests::peer_h2;
use mcp_sse_tests::tokio_client::{BOUND, builder, call, charge, execution, run, told, unsent, within};
use mcp_sse_tokio::{BuildError, Client, ConnectionConfig};

/// `me:p@ss`, as a URL and as a header have it.
const CREDENTIALS: &str = "me:p%40ss";
const BASIC: &str = "Basic bWU6cEBzcw==";

fn through(proxy: &ForwardProxy, url: &str) -> Client {
    builder(url).proxy(&proxy.url(CREDENTIALS)).build().unwrap()
}

#[test]
fn requests_by_http_are_given_to_the_proxy_over_a_kept_connection() {
    run(async {
        let (peer, proxy) = (Peer::start(), ForwardProxy::start(Manner::Serve));
        let scenario = peer.scenario([Script::whole()]);
        let client = through(&proxy, &scenario.url());
        for number in 1..=2 {
            let (_, done) = client.call_to_end(METHOD, &charge(number), &within(BOUND)).await.unwrap();
            assert!(matches!(done.outcome, Outcome::Settled(_)), "{done:?}");
        }
        let asked = proxy.asked();
        assert_eq!(asked.len(), 2);
        let authority = scenario.url().trim_start_matches("http://").split('/').next().unwrap().to_owned();
        for asked in asked {
            assert_eq!(asked.line, format!("POST {} HTTP/1.1", scenario.url()));
            assert_eq!(asked.header("host"), Some(&*authority));
            assert_eq!(asked.header("proxy-authorization"), Some(BASIC));
            assert_eq!(asked.connection, 0);
        }
        assert_eq!(scenario.executions(), 2);
    });
}

/// E4, E5, F1: a break behind the proxy is worth what it is worth without one.
#[test]
fn e4_e5_a_stream_that_breaks_behind_the_proxy() {
    run(async {
        for (peer, is_tls) in [(Peer::start(), false), (Peer::start_tls(), true)] {
            let proxy = ForwardProxy::start(Manner::Serve);
            let response = Response::sse([Sse::progress(1), Sse::charged()]);
            let scenario = peer.scenario([
                Script::new(response.clone()).cut(At::mark(Mark::AnswerStart), Ending::Fin),
                Script::new(response).cut(At::mark(Mark::AnswerEnd), Ending::Fin),
            ]);
            let mut builder = builder(&scenario.url()).proxy(&proxy.url(CREDENTIALS));
            if is_tls {
                builder = builder.trust_pem(peer.certificate_pem().as_bytes());
            }
            let reply = call(&builder.build().unwrap()).await.unwrap();
            assert_eq!((reply.attempts, execution(&reply), reply.damage.is_some()), (2, 2, true), "TLS {is_tls}");
            assert_eq!(proxy.asked().len(), 2);
        }
    });
}

#[test]
fn requests_by_https_go_through_a_tunnel_and_the_server_sees_nothing_of_it() {
    run(async {
        let (peer, proxy) = (Peer::start_tls(), ForwardProxy::start(Manner::Serve));
        let scenario = peer.scenario([Script::whole()]);
        for url in [scenario.url(), scenario.localhost_url()] {
            let before = proxy.asked().len();
            let client = builder(&url)
                .proxy(&proxy.url(CREDENTIALS))
                .trust_pem(peer.certificate_pem().as_bytes())
                .build()
                .unwrap();
            for number in 1..=2 {
                client.call_to_end(METHOD, &charge(number), &within(BOUND)).await.unwrap();
            }
            let authority = url.trim_start_matches("https://").split('/').next().unwrap().to_owned();
            let asked = proxy.asked().split_off(before);
            assert_eq!(asked.len(), 1, "one tunnel for both");
            assert_eq!(asked[0].line, format!("CONNECT {authority} HTTP/1.1"));
            assert_eq!(asked[0].header("host"), Some(&*authority));
            assert_eq!(asked[0].header("proxy-authorization"), Some(BASIC));
        }
        assert!(scenario.requests().iter().all(|request| request.header("proxy-authorization").is_none()));
        assert_eq!(scenario.executions(), 4);
    });
}

#[test]
fn http2_goes_through_a_tunnel_with_tls_and_without() {
    run(async {
        for (peer, manner) in [
            (peer_h2::Peer::start_tls(), Manner::Serve),
            (peer_h2::Peer::start(), Manner::Serve),
            // A server of HTTP/2 need not wait for the client's first word.
            (peer_h2::Peer::start(), Manner::ServeTogether),
        ] {
            let proxy = ForwardProxy::start(manner);
            let scenario = peer.scenario([peer_h2::Script::whole()]);
            let known = ConnectionConfig::default().with_http2_prior_knowledge(true);
            let mut builder = builder(&scenario.url()).connections(known).proxy(&proxy.url(CREDENTIALS));
            if scenario.url().starts_with("https") {
                builder = builder.trust_pem(peer.certificate_pem().as_bytes());
            }
            let client = builder.build().unwrap();
            for number in 1..=2 {
                assert_eq!(execution(&call(&client).await.unwrap()), number);
            }
            assert_eq!((proxy.asked().len(), peer.connections()), (1, 1));
            assert!(proxy.asked()[0].line.starts_with("CONNECT 127.0.0.1:"));
        }
    });
}

/// E1: without a tunnel nothing was sent, and why is told.
#[test]
fn e1_a_tunnel_that_is_refused() {
    run(async {
        let peer = Peer::start_tls();
        let scenario = peer.scenario([Script::whole()]);
        for (manner, kind) in [
            (Manner::Refuse(407), BreakKind::ProxyAuthentication),
            (Manner::Refuse(502), BreakKind::Proxy),
            (Manner::Refuse(302), BreakKind::Proxy),
            (Manner::CutHead, BreakKind::Proxy),
            (Manner::Close, BreakKind::Proxy),
            (Manner::Silence, BreakKind::ConnectTimeout),
        ] {
            let proxy = ForwardProxy::start(manner);
            let timeout = if manner == Manner::Silence { Duration::from_millis(300) } else { BOUND };
            let client = builder(&scenario.url())
                .proxy(&proxy.url(CREDENTIALS))
                .trust_pem(peer.certificate_pem().as_bytes())
                .connections(ConnectionConfig::default().with_connect_timeout(timeout))
                .build()
                .unwrap();
            let error = call(&client).await.unwrap_err();
            assert_eq!((unsent(&error), error.attempts()), (kind, 1), "{manner:?}");
            assert_eq!(proxy.asked().len(), 1, "{manner:?}");
            assert!(!format!("{error:?} {error}").contains("ss@"), "no credentials: {error}");
        }
        assert_eq!((peer.connections(), scenario.executions()), (0, 0));
    });
}

/// A proxy that answers in place of the server gives a failure like any other (E18); one that closes may have sent the
/// request on (E5).
#[test]
fn e5_e18_a_proxy_that_does_not_send_a_request_on() {
    run(async {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::whole()]);
        let proxy = ForwardProxy::start(Manner::Refuse(407));
        let error = call(&through(&proxy, &scenario.url())).await.unwrap_err();
        assert_eq!((error.status(), error.attempts()), (Some(407), 1));
        let proxy = ForwardProxy::start(Manner::Close);
        let told = told(through(&proxy, &scenario.url()).call_with(METHOD, &charge(1), &within(BOUND))).await;
        let Err(CallError::Failed { failure, attempts: 2, .. }) = told.result else { panic!("{:?}", told.result) };
        assert!(matches!(failure.kind, FailureKind::Lost { .. }), "{failure}");
        assert_eq!((proxy.asked().len(), scenario.executions()), (2, 0));
    });
}

#[test]
fn e1_a_proxy_that_is_not_there() {
    run(async {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let peer = Peer::start();
        let scenario = peer.scenario([Script::whole()]);
        let client = builder(&scenario.url()).proxy(&format!("http://{closed}")).build().unwrap();
        assert_eq!(unsent(&call(&client).await.unwrap_err()), BreakKind::Connect);
        assert_eq!(peer.connections(), 0);
    });
}

#[test]
fn what_cannot_be_a_proxy_is_refused_when_the_client_is_built() {
    for url in ["", "no url", "ftp://127.0.0.1:21", "socks5://127.0.0.1:1080", "https://127.0.0.1:443", "http://"] {
        for target in ["http://127.0.0.1/mcp", "https://127.0.0.1/mcp"] {
            let built = Client::builder(target).proxy(url).build();
            assert!(matches!(built, Err(BuildError::Proxy)), "{url:?}: {built:?}");
        }
    }
    assert!(Client::builder("http://127.0.0.1/mcp").proxy("127.0.0.1:3128").build().is_ok());
    let client = Client::builder("http://127.0.0.1/mcp").proxy("http://me:secret@127.0.0.1:3128");
    assert!(!format!("{client:?}").contains("secret"));
}

/// The environment of a process of its own: whether its call succeeded.
fn call_with_environment(url: &str, variables: &[(&str, &str)]) -> Option<i32> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_call-tokio"));
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command.envs(variables.iter().copied()).args(["--deadline-ms", "20000", url, METHOD]);
    command.output().unwrap().status.code()
}

#[test]
fn the_environment_names_the_proxy_and_the_hosts_without_one() {
    let (peer, proxy) = (Peer::start(), ForwardProxy::start(Manner::Serve));
    let scenario = peer.scenario([Script::whole()]);
    let (url, proxy_url) = (scenario.url(), proxy.url(CREDENTIALS));
    for (variables, is_used) in [
        (&[][..], false),
        (&[("HTTP_PROXY", &*proxy_url)][..], true),
        (&[("http_proxy", &*proxy_url)], true),
        (&[("ALL_PROXY", &*proxy_url)], true),
        (&[("HTTPS_PROXY", &*proxy_url)], false),
        (&[("HTTP_PROXY", &*proxy_url), ("NO_PROXY", "127.0.0.1")], false),
        (&[("HTTP_PROXY", &*proxy_url), ("NO_PROXY", "example.com, 127.0.0.0/8")], false),
        (&[("HTTP_PROXY", &*proxy_url), ("NO_PROXY", "example.com")], true),
    ] {
        let (asked, executions) = (proxy.asked().len(), scenario.executions());
        assert_eq!(call_with_environment(&url, variables), Some(0), "{variables:?}");
        assert_eq!(scenario.executions() - executions, 1, "{variables:?}");
        assert_eq!(proxy.asked().len() - asked, usize::from(is_used), "{variables:?}");
    }
    let variables = [("HTTP_PROXY", &*proxy_url), ("NO_PROXY", "*")];
    let asked = proxy.asked().len();
    assert_eq!(call_with_environment(&scenario.localhost_url(), &variables), Some(0));
    assert_eq!(proxy.asked().len(), asked, "every name goes without");
    // Going round it without a word could show what was to be hidden.
    assert_eq!(call_with_environment(&url, &[("HTTP_PROXY", "socks5://127.0.0.1:1")]), Some(2));
}

/// The switch: a client that is told not to looks at no variable. The environment of the tests is not touched, so this shows
/// only that such a client is direct.
#[test]
fn a_client_that_is_told_not_to_look_at_the_environment_is_direct() {
    run(async {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::whole()]);
        let client = Client::builder(&scenario.url()).proxy_from_env(false).build().unwrap();
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        assert_eq!(peer.connections(), 1);
    });
}
