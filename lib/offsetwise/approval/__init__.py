"""Approvals: who may approve a plan, how they sign it, and whether exactly this plan is approved."""

from offsetwise.approval.envelope import PAYLOAD_TYPE, ApprovalFile, Statement, Verdict
from offsetwise.approval.judging import approved, believed
from offsetwise.approval.key_files import (
    policy_for,
    read_approval,
    read_private_key,
    read_public_key,
    write_approval,
    write_keys,
)
from offsetwise.approval.keys import PrivateKey, PublicKey, keygen
from offsetwise.approval.policy import ApprovalPolicy, combined
from offsetwise.approval.signing import sign
from offsetwise.approval.vouching import vouch

__all__ = [
    "PAYLOAD_TYPE",
    "ApprovalFile",
    "ApprovalPolicy",
    "PrivateKey",
    "PublicKey",
    "Statement",
    "Verdict",
    "approved",
    "believed",
    "combined",
    "keygen",
    "policy_for",
    "read_approval",
    "read_private_key",
    "read_public_key",
    "sign",
    "vouch",
    "write_approval",
    "write_keys",
]
