//! Health checks over gRPC.

use std::collections::BTreeMap;

use probity_script::Endpoint;
use probity_script::answer::GrpcAnswer;
use probity_script::witness::Ending;

use super::connection::{Call, Line, Request};
use super::reply::Answer;
use crate::pod::micros;
use crate::world::{MS, World};

impl World<'_> {
    /// A health check.
    pub(super) fn ask_health(
        &mut self,
        call: &Call,
        request: &Request,
        service: &str,
        line: &Line,
    ) -> (i64, Answer) {
        let services: &BTreeMap<_, _> = &line.door.listener.services;
        let known = services.get_key_value(service).or_else(|| services.get_key_value("*"));
        let (endpoint, answer, step) = match known {
            None => {
                self.arrive(request, line, None, 0, 0);
                (None, GrpcAnswer::NotFound, 0)
            }
            Some((name, script)) => {
                let endpoint = Endpoint::Of { listener: line.door.name.clone(), name: name.clone() };
                let word = endpoint.to_string();
                let probe = self.life_mut(line.door.life).map_or(0, |of| of.count(&word));
                let choice = self.choose_at(line.from, line.door.life, script, &word, probe, None);
                self.arrive(request, line, Some(endpoint.clone()), probe, 0);
                if let Some(mark) = choice.mark {
                    self.mark(line.door.life, &mark, &word);
                }
                (Some(endpoint), choice.answer, choice.index)
            }
        };
        let at = line.from + MS / 2;
        let word = answer.word().unwrap_or("hang");
        let (delay, serves, said, what) = match &answer {
            GrpcAnswer::Hang => return self.gives_up(call, line, endpoint, step, word, 0),
            GrpcAnswer::Close | GrpcAnswer::HalfFrame => {
                return self.breaks(line, endpoint, step, word, at, Ending::WeClosed, "EOF");
            }
            GrpcAnswer::Reset => {
                return self.breaks(
                    line,
                    endpoint,
                    step,
                    word,
                    at,
                    Ending::WeReset,
                    "connection reset by peer",
                );
            }
            GrpcAnswer::Serving => (0, true, word.to_owned(), "SERVING".to_owned()),
            GrpcAnswer::NotServing => (0, false, word.to_owned(), "NOT_SERVING".to_owned()),
            GrpcAnswer::Unknown => (0, false, word.to_owned(), "UNKNOWN".to_owned()),
            GrpcAnswer::ServiceUnknown => (0, false, word.to_owned(), "SERVICE_UNKNOWN".to_owned()),
            GrpcAnswer::NotFound => (0, false, word.to_owned(), "rpc error: code = NotFound".to_owned()),
            GrpcAnswer::Unimplemented => {
                (0, false, word.to_owned(), "rpc error: code = Unimplemented".to_owned())
            }
            GrpcAnswer::With(with) => {
                let said = with
                    .code
                    .map_or_else(|| format!("status {}", with.status.0), |code| format!("code {code}"));
                let delay = with.delay.map_or(0, micros);
                (delay, with.code.unwrap_or(0) == 0 && with.status.0 == 1, said.clone(), said)
            }
        };
        let at = at + delay;
        if at > call.deadline {
            return self.gives_up(call, line, endpoint, step, &said, 0);
        }
        self.answered(line, endpoint, step, &said, at, 7, None);
        if !call.keep {
            self.end(&line.door, line.conn, at + MS, Ending::PeerClosed, None);
        }
        (at + MS, Answer::Health(serves, what))
    }
}
