// SPDX-License-Identifier: Apache-2.0
// Operator lists as JSON, version 1. What a process that ran a foreign file has written is read
// with limits. Apart from operators.h, because whoever only computes with the lists need not pay
// for it.
//
//   KUAFU_TRY(task::OperatorList list, task::OperatorsFromJson(document));
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "task/operators.h"

namespace kuafu::task {

Json ToJson(const OperatorList& list);
Result<OperatorList> OperatorsFromJson(const Json& document);

}  // namespace kuafu::task
